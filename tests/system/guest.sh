# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
# shellcheck shell=bash
#
# Virtual machines on vhost-user ports, for what no namespace does: frames in
# the form that a guest's virtio driver gives them.  QEMU emulates the CPU, so
# that these need no KVM; a guest is up within some seconds.
#
# A guest is the machine's newest kernel that has virtio_net, and an initramfs
# of busybox and a few programs, made here.  Its first serial line takes
# commands, one line each, behind their length, and answers with output and
# status (200: lost a part of it); kernel messages go to GUEST.log.  Nothing of
# it outlives the test.

# What guests have beyond busybox, which has no UDP.
guest_programs=(nc.openbsd)

# guest_kernel: prints the release of the kernel that guests run.
guest_kernel () {
    local kernel release
    for kernel in $(printf '%s\n' /boot/vmlinuz-* | sort -rV); do
        release=${kernel#/boot/vmlinuz-}
        if [ -r "$kernel" ] && [ -n "$(guest_modules "$release")" ]; then
            echo "$release"
            return
        fi
    done
}

# guest_modules RELEASE: prints what virtio_net takes, in the order of loading.
guest_modules () {
    awk -F '[: ]+' '/\/virtio_net\.ko/ {
        for (i = NF; i > 0; i--) {
            if ($i != "") print $i
        }
    }' "/lib/modules/$1/modules.dep" 2>/dev/null
}

# need_guests: makes what they boot; skips the test where there can be none.
need_guests () {
    local program
    for program in qemu-system-x86_64 busybox "${guest_programs[@]}"; do
        command -v "$program" >/dev/null \
            || skip_all "no $program here, which guests take"
    done
    guest_release=$(guest_kernel)
    [ -n "$guest_release" ] \
        || skip_all "no kernel with virtio_net in /boot and /lib/modules"
    ovs-vswitchd --version | grep -q DPDK \
        || skip_all "this ovs-vswitchd has no DPDK, hence no vhost-user"
    must make_initramfs
}

# start_ovs_with_dpdk: beside others on the machine, without huge pages.
start_ovs_with_dpdk () {
    must ovsdb-tool create conf.db "$OVS_TREE/vswitchd/vswitch.ovsschema"
    must ovsdb-tool transact conf.db '["Open_vSwitch", {"op": "insert",
        "table": "Open_vSwitch", "row": {"other_config": ["map", [
            ["userspace-tso-enable", "true"], ["dpdk-init", "true"],
            ["dpdk-extra", "--no-huge --in-memory --no-pci -m 512"],
            ["per-port-memory", "true"], ["pmd-sleep-max", "200"]]]}}]'
    start_ovs
}

# The initramfs.

guest_init () {
    cat <<'END'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
for module in /modules/*; do insmod "$module"; done
echo 0 >/proc/sys/net/ipv6/conf/all/accept_dad
echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
ip link set lo up
ip link set eth0 up
mkdir /tmp
cd /tmp
exec </dev/ttyS0 >/dev/ttyS0 2>&1
stty raw -echo
echo =0
while read -r length line; do
    if [ "$length" = ${#line} ]; then
        timeout 20 sh -c "$line" </dev/null
        echo "=$?"
    else
        echo =200
    fi
done
END
}

# with_libraries PROGRAM...: paths of these and of what they are linked with.
with_libraries () {
    local program
    for program; do
        program=$(command -v "$program")
        echo "$program"
        ldd "$program" | sed -n 's/^[^/]*\(\/[^ ]*\) (0x.*/\1/p'
    done | sort -u
}

make_initramfs () {
    local root=$RUN/guest module file n=10
    mkdir -p "$root"/{bin,dev,proc,sys,modules}
    for module in $(guest_modules "$guest_release"); do
        n=$((n + 1))
        file=/lib/modules/$guest_release/$module
        case $module in
        *.xz) xz -dc "$file" ;;
        *.zst) zstd -dc "$file" ;;
        *) cat "$file" ;;
        esac >"$root/modules/$n.ko" || return
    done
    for file in $(with_libraries "${guest_programs[@]}"); do
        mkdir -p "$root${file%/*}"
        cp -L "$file" "$root$file" || return
    done
    cp "$(command -v busybox)" "$root/bin/busybox" || return
    guest_init >"$root/init"
    chmod +x "$root/init"
    (cd "$root" && find . | busybox cpio -o -H newc) >"$RUN/initramfs"
}

# Guests.

declare -A guest_in guest_out guest_pid

# Less to do until it is up.
guest_kernel_options="quiet panic=-1 nokaslr mitigations=off init_on_alloc=0 \
lpj=4000000 no_timer_check"

# start_guest GUEST PORT MAC [DEVICE_OPTION...]: a vhost-user port on br0 and
# a machine behind it.  wait_for_guest() has to follow.
start_guest () {
    local guest=$1 port=$2 mac=$3 options=''
    shift 3
    [ $# = 0 ] || options=$(printf ',%s' "$@")
    must mkfifo "$guest.in" "$guest.out"
    # shellcheck disable=SC1083,SC2086,SC2093
    exec {guest_in[$guest]}<>"$guest.in" {guest_out[$guest]}<>"$guest.out"
    qemu-system-x86_64 -nodefaults -no-user-config -no-reboot -display none \
        -accel tcg -m 128 \
        -object memory-backend-memfd,id=ram,size=128M,share=on \
        -machine pc,memory-backend=ram \
        -kernel "/boot/vmlinuz-$guest_release" -initrd initramfs \
        -append "console=ttyS1 $guest_kernel_options" \
        -chardev "pipe,id=line,path=$RUN/$guest" -serial chardev:line \
        -serial "file:$guest.log" \
        -chardev "socket,id=vhost,path=$RUN/$port.sock,server=on,wait=on" \
        -netdev vhost-user,id=net,chardev=vhost \
        -device "virtio-net-pci,netdev=net,mac=$mac,romfile=$options" \
        >"$guest.qemu" 2>&1 &
    guest_pid[$guest]=$!
    must ovs-vsctl --timeout=20 add-port br0 "$port" -- \
        set interface "$port" type=dpdkvhostuserclient \
        options:vhost-server-path="$RUN/$port.sock"
}

# answer_of GUEST SECONDS: prints what a command prints; its status.
answer_of () {
    local line part='' deadline=$((SECONDS + $2))
    while [ $SECONDS -le $deadline ] && kill -0 "${guest_pid[$1]}"; do
        read -r -t 1 -u "${guest_out[$1]}" line || { part+=$line; continue; }
        line=$part$line
        part=
        case $line in
        =[0-9]*) return "${line#=}" ;;
        *) echo "$line" ;;
        esac
    done
    echo "no answer from $1"
    tail -n 20 "$1.qemu" "$1.log"
    return 1
}

# A loaded machine takes its time.
wait_for_guest () {
    must answer_of "$1" 120
}

# in_guest GUEST LINE: what its shell makes of the line, within 20 s.  On a
# loaded machine, the serial line may lose what its FIFO holds: once more then.
in_guest () {
    local status=200 tries=5
    while [ $status = 200 ] && [ $((tries--)) -gt 0 ]; do
        echo "${#2} $2" >&"${guest_in[$1]}"
        status=0
        answer_of "$1" 30 || status=$?
    done
    return $status
}
