#!/bin/sh
# Build the kernel and the link emulator: build.sh DIRECTORY [make options, such as -j2]
#
# Needs an x86-64 Debian 12 host with gcc, make, flex, bison and bc, 3 GB of disk and 12 minutes of
# one core. Installs nothing: the source package is unpacked in DIRECTORY. HOPFLOW_LINUX=DIRECTORY
# names the folder with what is built: `linux`, its `config`, `linkemu`. The kernel is under the GPL 2.
set -eu
version=6.12.117-1~deb12u1
checksum=e849faf31ca3555757f3a8877cb01af92122f744f75d1f3102734651c4e14703
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/source"
cd "$1"
shift
[ -e "linux-source-6.12_${version}_all.deb" ] || apt-get download "linux-source-6.12=$version"
echo "$checksum  linux-source-6.12_${version}_all.deb" | sha256sum --check
if [ ! -e source/Makefile ]; then
    dpkg-deb --fsys-tarfile "linux-source-6.12_${version}_all.deb" |
        tar -xO ./usr/src/linux-source-6.12.tar.xz |
        tar -xJ -C source --strip-components=1
fi
# Debian's tick of 4 ms in place of User-Mode Linux's 10 ms.
sed -i '/^config HZ$/,/default/ s/default 100$/default 250/' source/arch/um/Kconfig
# The kernel's entropy comes from the host; constant bytes make every boot the same.
sed -i 's/return getrandom(buf, len, flags);/(void)flags; return __builtin_memset(buf, 0x5a, len), (ssize_t)len;/' \
    source/arch/um/os-Linux/util.c
# Hosts with AMX refuse registers in the room that User-Mode Linux has for them. It then takes the
# smaller set without those of vectors, which is enough for a kernel with one process.
sed -i 's/NT_X86_XSTATE, &iov) == 0)$/NT_X86_XSTATE, \&iov) == 0 \&\& iov.iov_len < FP_SIZE * sizeof(unsigned long))/' \
    source/arch/x86/um/os-Linux/registers.c
export KBUILD_BUILD_TIMESTAMP='2026-01-01' KBUILD_BUILD_USER=hopflow KBUILD_BUILD_HOST=hopflow
make -C source ARCH=um "KCONFIG_ALLCONFIG=$here/kernel.config" allnoconfig
make -C source ARCH=um "$@" linux
cp source/.config config
strip -o linux source/linux
gcc -O2 -static -Wall -Wextra -o linkemu "$here/linkemu.c" "$here/queues.c" -lm
sha256sum linux config linkemu
