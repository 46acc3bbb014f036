#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Makes one virtual machine's files (packaging/vm/image.sh). Needs root, or user namespaces that mmdebstrap may use.
set -euo pipefail
[[ $# -ge 3 ]] || { echo "usage: packaging/vm/make_image.sh DIR plain|systemd PACKAGE..." >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
to=$1 kind=$2
shift 2
packages=$(IFS=,; echo "$*")
staged=$to.part
rm -rf "$staged"
mkdir -p "$staged"
trap 'rm -rf "$staged"' EXIT

# Each hook is a script of its own, whose $1 is the new root.
# shellcheck disable=SC2016
if [[ $kind == systemd ]]; then
    # What would wake up in the middle of a check, or wait for a terminal, is masked. Prometheus starts when the check
    # has written its configuration.
    hooks=(
        "upload '$here/guest/boot' /pv-boot"
        "upload '$here/guest/boot.service' /etc/systemd/system/pv-boot.service"
        'chroot "$1" systemctl enable pv-boot.service'
        'chroot "$1" systemctl disable prometheus.service'
        'chroot "$1" systemctl mask getty.target serial-getty@ttyS0.service apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer'
        'chroot "$1" systemctl set-default multi-user.target'
    )
else
    hooks=(
        "copy-in '$here/module' /root"
        'chroot "$1" sh -c "make -C /lib/modules/*/build M=/root/module modules"'
        'chroot "$1" sh -c "cd /lib/modules/* && mkdir extra && cp /root/module/*.ko extra && xz -k --check=crc32 extra/pv_split.ko && rm extra/pv_split.ko && depmod \$(basename \$(pwd))"'
        "upload '$here/guest/init' /pv-init"
        'chmod 755 "$1/pv-init"'
    )
fi

# The initial file system holds what the root disk needs and nothing else: each byte of it is unpacked by an emulated CPU.
# It is made once, at the end (INITRD), and nothing needs to be safe on the disk before.
# shellcheck disable=SC2016
INITRD=No mmdebstrap --quiet --variant=minbase --dpkgopt=force-unsafe-io --include="initramfs-tools,$packages" \
    --setup-hook='mkdir -p "$1/etc/initramfs-tools/conf.d"' \
    --customize-hook='printf "MODULES=list\nCOMPRESS=zstd\n" >"$1/etc/initramfs-tools/conf.d/vm"' \
    --customize-hook='printf "%s\n" virtio_pci virtio_blk ext4 >"$1/etc/initramfs-tools/modules"' \
    --customize-hook='chroot "$1" update-initramfs -c -k all' \
    "${hooks[@]/#/--customize-hook=}" \
    --customize-hook='mkdir -p "$1/pv" "$1/out"' \
    bookworm "$staged/root"
cp "$staged"/root/boot/vmlinuz-* "$staged/vmlinuz"
cp "$staged"/root/boot/initrd.img-* "$staged/initrd.img"
size=$(du -sm "$staged/root" | cut -f1)
mke2fs -q -t ext4 -d "$staged/root" -L root "$staged/root.img" $((size * 5 / 4 + 1024))M
rm -rf "$staged/root"
rm -rf "$to"
mv "$staged" "$to"
