package machine

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Seal separates this process from the programs that it will start. They don't inherit
// files that the launcher left open (a lock, a socket, a folder): a folder is a way out
// of any sandbox. And they can't look into this process, whose environment holds all
// secrets. See close_range(2) and prctl(2).
func Seal() {
	const first = 3 // behind standard error
	if err := unix.CloseRange(first, ^uint(0)>>32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		sealEach(first)
	}
	// It fails for no reason that could be mended here.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// sealEach does so one by one, for kernels before 5.11.
func sealEach(first int) {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, f := range open {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd >= first {
			unix.CloseOnExec(fd)
		}
	}
}
