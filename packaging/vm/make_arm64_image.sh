#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Makes the arm64 virtual machine's files (packaging/vm/image.sh) from the unpacked root that arm64 is built against.
# Its packages were never configured: what the machine needs of that is made here, and nothing of the root is executed.
set -euo pipefail
[[ $# -eq 2 ]] || { echo "usage: packaging/vm/make_arm64_image.sh DIR ROOT" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
to=$1 source_root=$2
staged=$to.part
PATH=$PATH:/usr/sbin:/sbin
rm -rf "$staged"
mkdir -p "$staged/initrd"/{bin,dev,proc,new}
trap 'rm -rf "$staged"' EXIT

# Hard links to the files, without what only compilers read.
root=$staged/root
cp -al "$source_root" "$root"
rm -rf "${root:?}"/{libperf,recipe,boot,initrd.img*,vmlinuz*} "$root"/usr/{include,share/doc,share/man,share/locale}
find "$root/usr/lib/aarch64-linux-gnu" -maxdepth 1 -name '*.a' -delete
kernel=$(ls "$root/lib/modules")
depmod -b "$root" "$kernel"
install -m 755 "$here/guest/init" "$root/pv-init"
mkdir -p "$root"/{pv,out,proc,sys,tmp,dev,root,etc}
rm -f "$root/etc/passwd" "$root/etc/group" # links shared with the source root are not to be written through
printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n' >"$root/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
[[ -e $root/usr/bin/awk ]] || ln -s mawk "$root/usr/bin/awk"

# The initial file system mounts the root disk and does nothing else.
cp "$source_root/bin/busybox" "$staged/initrd/bin/"
{
    printf '#!/bin/busybox sh\nmount() { /bin/busybox mount "$@"; }\nmount -t proc proc /proc\nmount -t devtmpfs dev /dev\n'
    for module in virtio_pci virtio_blk crc32c_generic ext4; do
        modprobe -d "$root" -S "$kernel" --show-depends "$module" | awk '$1 == "insmod" { print $2 }'
    done | awk '!seen[$0]++' | while read -r file; do
        cp "$file" "$staged/initrd/"
        echo "/bin/busybox insmod /$(basename "$file")"
    done
    printf 'while [ ! -b /dev/vda ]; do /bin/busybox usleep 100000; done\nmount -t ext4 /dev/vda /new\n'
    printf '/bin/busybox umount /dev /proc\nexec /bin/busybox switch_root /new /pv-init\n'
} >"$staged/initrd/init"
chmod 755 "$staged/initrd/init"
(cd "$staged/initrd" && find . | cpio --quiet -o -H newc -R 0:0) >"$staged/initrd.img"
cp "$source_root/boot/vmlinuz-$kernel" "$staged/vmlinuz"
size=$(du -sm "$root" | cut -f1)
mke2fs -q -t ext4 -d "$root" -L root "$staged/root.img" $((size * 5 / 4 + 256))M
rm -rf "$root" "$staged/initrd"
rm -rf "$to"
mv "$staged" "$to"
