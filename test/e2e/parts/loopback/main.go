//go:build linux

// Command loopback-up brings the loopback interface of a new network namespace up. A machine need not have iproute2.
package main

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// ifreq has the layout of struct ifreq in netdevice(7): the name, then a union of 24 bytes that begins with the flags.
type ifreq struct {
	name  [syscall.IFNAMSIZ]byte
	flags uint16
	_     [22]byte
}

func ioctl(socket int, request uintptr, argument *ifreq) error {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(socket), request, uintptr(unsafe.Pointer(argument)))
	if errno != 0 {
		return errno
	}
	return nil
}

func up(name string) error {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(socket)
	var request ifreq
	copy(request.name[:], name)
	if err := ioctl(socket, syscall.SIOCGIFFLAGS, &request); err != nil {
		return err
	}
	request.flags |= syscall.IFF_UP
	return ioctl(socket, syscall.SIOCSIFFLAGS, &request)
}

func main() {
	if err := up("lo"); err != nil {
		fmt.Fprintln(os.Stderr, "loopback-up:", err)
		os.Exit(1)
	}
}
