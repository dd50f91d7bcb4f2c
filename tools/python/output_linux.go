package python

import (
	"sync"
	"syscall"

	"nod/tools"
)

// Limits of the kept output; code may print without limit.
const (
	outputHead = 1 << 20
	outputTail = 512 << 10
	// outputPipe is more than a pipe of an ordinary user holds.
	outputPipe = 2 << 20
)

// output reads the sandbox's standard output and error all the time, and keeps the
// beginning and the end of one call's output.
type output struct {
	pipe syscall.RawConn

	mu     sync.Mutex
	buffer [32 << 10]byte
	kept   *tools.Capture
}

func newKept() *tools.Capture { return tools.NewCapture(outputHead, outputTail) }

// pump reads until nobody is left who could write, or the pipe is closed.
func (o *output) pump() {
	for closed := false; !closed; {
		err := o.pipe.Read(func(fd uintptr) bool {
			var n int
			n, closed = o.take(int(fd))
			return n > 0 || closed
		})
		closed = closed || err != nil
	}
}

// drain reads the pipe: everything that was written before a received answer.
func (o *output) drain() error {
	return o.pipe.Control(func(fd uintptr) {
		for most := outputPipe; most > 0; {
			n, _ := o.take(int(fd))
			if n <= 0 {
				return
			}
			most -= n
		}
	})
}

// take reads once without waiting, and so under the lock: nothing is ever
// between the pipe and the buffers.
func (o *output) take(fd int) (n int, closed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := syscall.Read(fd, o.buffer[:])
	for err == syscall.EINTR {
		n, err = syscall.Read(fd, o.buffer[:])
	}
	switch {
	case err == syscall.EAGAIN:
		return 0, false
	case err != nil || n == 0:
		return 0, true
	}
	_, _ = o.kept.Write(o.buffer[:n]) // it takes all
	return n, false
}

// text returns the kept output and starts again.
func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := o.kept.Text()
	o.kept = newKept()
	return text
}
