package machine

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Started programs inherit no open file, on new kernels and old ones, and only root may
// look into this process.
func TestSeal(t *testing.T) {
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) })
	for name, closed := range map[string]func(){"new": Seal, "old": func() { sealEach(3) }} {
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		closed()
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("%s: a program that is started gets it: %d, %v", name, flags, err)
		}
		_ = unix.Close(fd)
	}
	if open, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || open != 0 {
		t.Errorf("dumpable %d, %v", open, err)
	}
}
