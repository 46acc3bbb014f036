#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The virtual machines that the words of ./dev vm share: a Debian 12 with the kernel it ships, booted with software
# emulation alone (a host without KVM, or another architecture). With vm_arch=amd64, the default, it has the kernel's
# headers and the test modules of packaging/vm/module, and vm_cpus CPUs (one); with arm64 a PMU (armv8_pmuv3) and two CPUs.
# With vm_kind=systemd (amd64 alone) systemd is its first process, and it has dbus, apt, Prometheus and vm_more_packages.
# To be sourced. Images are made once and kept in the cache folder; a machine writes into a throw-away copy.
#
#   vm_image                    makes $vm_dir/{root.img,vmlinuz,initrd.img} unless they are there
#   vm_add PATH [IN]            puts a file or folder into what the guest finds below /pv
#   vm_add_program PROGRAM...   puts programs into /pv/bin, with the libraries that the image lacks
#   vm_run CHECK SECONDS OUT    boots, runs /pv/CHECK, unpacks what it left in /out into OUT; the console is OUT/console

vm_root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
vm_arch=${vm_arch:-amd64}
vm_kind=${vm_kind:-plain}
vm_memory=${vm_memory:-1024}
vm_arm64_root=${XDG_CACHE_HOME:-$HOME/.cache}/perfvigil/arm64/root
# cpu max: the instructions that today's kernels and libraries ask for.
if [[ $vm_arch == arm64 ]]; then
    # Signing pointers by qemu's own quick function: the architected one takes most of an emulated call.
    vm_qemu=qemu-system-aarch64 vm_console=ttyAMA0 vm_machine=(-M 'virt,gic-version=3' -cpu 'max,pauth-impdef=on' -smp 2)
else
    vm_qemu=qemu-system-x86_64 vm_console=ttyS0 vm_machine=(-cpu max -smp "${vm_cpus:-1}")
fi
vm_packages=(linux-image-amd64 linux-perf kmod procps zstd)
if [[ $vm_kind == systemd ]]; then
    vm_packages+=(systemd-sysv dbus apt prometheus curl "${vm_more_packages[@]}")
    vm_init=/sbin/init
else
    vm_packages+=(linux-headers-amd64 make busybox xz-utils e2fsprogs)
    vm_init=/pv-init
fi

vm_fail() {
    echo "vm: $*" >&2
    return 1
}

# What an image depends on, in its name: another recipe makes another image.
vm_recipe() {
    if [[ $vm_arch == arm64 ]]; then
        cat "$vm_arm64_root/recipe" "$vm_root/make_arm64_image.sh" "$vm_root/guest/init" | sha256sum | cut -c1-12
        return
    fi
    local parts=("$vm_root"/module/* "$vm_root/guest/init")
    [[ $vm_kind != systemd ]] || parts=("$vm_root"/guest/boot*)
    { printf '%s\n' "${vm_packages[@]}" && cat "$vm_root/make_image.sh" "${parts[@]}"; } | sha256sum | cut -c1-12
}

vm_image() {
    local tool tools=(mmdebstrap mke2fs "$vm_qemu")
    [[ $vm_arch != arm64 ]] || tools+=(cpio depmod)
    for tool in "${tools[@]}"; do
        command -v "$tool" >/dev/null || [[ -x /sbin/$tool ]] || vm_fail "$tool is not installed (./dev deps vm)" || return 1
    done
    [[ $vm_arch != arm64 ]] || bash "$vm_root/make_arm64_root.sh" "$vm_arm64_root" || return 1
    vm_dir=${XDG_CACHE_HOME:-$HOME/.cache}/perfvigil/vm/$vm_arch-$(vm_recipe)
    [[ $vm_kind == plain ]] || vm_dir=${vm_dir/$vm_arch-/$vm_arch-$vm_kind-}
    [[ -s $vm_dir/root.img ]] && return
    mkdir -p "$(dirname "$vm_dir")"
    # Whoever else makes it is waited for.
    { flock 9 && { [[ -s $vm_dir/root.img ]] || vm_make_image; }; } 9>"$vm_dir.lock"
}

vm_make_image() {
    echo "vm: making $vm_dir (some minutes, once)"
    if [[ $vm_arch == arm64 ]]; then
        bash "$vm_root/make_arm64_image.sh" "$vm_dir" "$vm_arm64_root"
    else
        bash "$vm_root/make_image.sh" "$vm_dir" "$vm_kind" "${vm_packages[@]}"
    fi
}

# The files for /pv are gathered in a folder of their own.
vm_begin() {
    vm_work=$(mktemp -d "${TMPDIR:-/tmp}/perfvigil-vm.XXXXXX")
    mkdir -p "$vm_work/pv/bin" "$vm_work/pv/lib"
}

vm_end() {
    [[ -z ${vm_work:-} ]] || rm -rf "$vm_work"
}

vm_add() {
    local to=$vm_work/pv/${2:-}
    mkdir -p "$to"
    cp -a "$1" "$to/"
}

vm_add_program() {
    local program library
    for program in "$@"; do
        cp "$program" "$vm_work/pv/bin/"
        # arm64's image has every library that the preset links.
        [[ $vm_arch != arm64 ]] || continue
        # The C library is the image's own; its version is that of the host's Debian.
        while read -r library; do
            [[ $library == */libc.so.6 || $library == */ld-linux* ]] || cp -Ln "$library" "$vm_work/pv/lib/"
        done < <(ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }')
    done
}

vm_run() {
    local check=$1 seconds=$2 out=$3 status=0
    mkdir -p "$out"
    mke2fs -q -t ext4 -d "$vm_work/pv" -L pv "$vm_work/pv.img" 512M
    truncate -s 512M "$vm_work/out.img"
    # No network card: nothing in here calls out.
    timeout --kill-after=10 "$seconds" "$vm_qemu" -accel tcg "${vm_machine[@]}" -m "$vm_memory" \
        -nodefaults -no-reboot -nographic -serial "file:$out/console" -nic none \
        -kernel "$vm_dir/vmlinuz" -initrd "$vm_dir/initrd.img" \
        -append "root=/dev/vda rw console=$vm_console init=$vm_init pv_check=$check quiet panic=-1 ${vm_cmdline:-}" \
        -drive "file=$vm_dir/root.img,format=raw,if=virtio,snapshot=on" \
        -drive "file=$vm_work/pv.img,format=raw,if=virtio,readonly=on" \
        -drive "file=$vm_work/out.img,format=raw,if=virtio" </dev/null || status=$?
    [[ $status -eq 0 ]] || vm_fail "the machine did not end by itself (status $status); its console: $out/console" || return 1
    tar -xf "$vm_work/out.img" -C "$out" 2>/dev/null || vm_fail "the check left nothing; the console: $out/console" || return 1
    status=$(cat "$out/status" 2>/dev/null || echo none)
    [[ $status == 0 ]] || vm_fail "the check ended with status $status; the console: $out/console" || return 1
}
