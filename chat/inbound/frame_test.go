package inbound

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// Frames are read whole and one by one, and a second one of ordinary length takes no
// room of its own.
func TestFrame(t *testing.T) {
	var f Frame
	for _, want := range []string{"", "one", strings.Repeat("long", mostKept), "short", strings.Repeat("x", 10_000), "last"} {
		if got, err := f.All(iotest.HalfReader(strings.NewReader(want))); err != nil || string(got) != want {
			t.Errorf("%d bytes became %d, %v", len(want), len(got), err)
		}
	}
	if n := f.buf.Cap(); n > mostKept {
		t.Errorf("%d bytes of room are kept", n)
	}
	frame := bytes.NewReader(bytes.Repeat([]byte("x"), 10_000))
	if n := testing.AllocsPerRun(100, func() {
		_, _ = frame.Seek(0, io.SeekStart)
		_, _ = f.All(frame)
	}); n > 0 {
		t.Errorf("a frame takes room %v times", n)
	}
	broken := errors.New("broken")
	if _, err := f.All(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a frame that broke off gives %v", err)
	}
}
