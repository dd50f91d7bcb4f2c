package python

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
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

	mu         sync.Mutex
	buffer     [32 << 10]byte
	head, tail []byte
	total      int64
	closed     bool
}

// pump reads until nobody is left who could write, or the pipe is closed.
func (o *output) pump() {
	for {
		err := o.pipe.Read(func(fd uintptr) bool {
			n, closed := o.take(int(fd))
			return n > 0 || closed
		})
		if err != nil || o.ended() {
			return
		}
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
		o.closed = true
		return 0, true
	}
	o.add(o.buffer[:n])
	return n, false
}

func (o *output) add(p []byte) {
	o.total += int64(len(p))
	fits := min(outputHead-len(o.head), len(p))
	o.head = append(o.head, p[:fits]...)
	o.tail = append(o.tail, p[fits:]...)
	if len(o.tail) > 2*outputTail {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-outputTail:]...)
	}
}

func (o *output) ended() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed
}

// text returns the kept output and starts again.
func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	tail := o.tail[max(len(o.tail)-outputTail, 0):]
	var b strings.Builder
	b.Write(o.head)
	if left := o.total - int64(len(o.head)+len(tail)); left > 0 {
		fmt.Fprintf(&b, "\n[… %d bytes are left out here …]\n", left)
	}
	b.Write(tail)
	o.head, o.tail, o.total = nil, nil, 0
	return b.String()
}
