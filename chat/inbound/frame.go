package inbound

import (
	"bytes"
	"io"
)

// Frame is room for what comes over a connection, a frame at a time: always the
// same, so that reading costs nothing that has to be collected. One goroutine uses
// it. The zero Frame is ready.
type Frame struct{ buf bytes.Buffer }

// mostKept is how much room is kept; a longer frame is an exception.
const mostKept = 256 << 10

// All gives all of r. It is good until the next All.
func (f *Frame) All(r io.Reader) ([]byte, error) {
	if f.buf.Cap() > mostKept {
		f.buf = bytes.Buffer{}
	}
	f.buf.Reset()
	_, err := f.buf.ReadFrom(r)
	return f.buf.Bytes(), err
}
