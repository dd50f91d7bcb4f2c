package tools

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCapture(t *testing.T) {
	c := NewCapture(10, 20)
	line := []byte("0123456789")
	for range 1_000_000 {
		if n, err := c.Write(line); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	if cap(c.head)+cap(c.tail) > 200 {
		t.Errorf("%d bytes are kept", cap(c.head)+cap(c.tail))
	}
	want := "0123456789\n[… 9999970 bytes are left out here …]\n01234567890123456789"
	if diff := cmp.Diff(want, c.Text()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for size := range 60 { // whatever the pieces are
		for _, piece := range []int{1, 3, 25, 60} {
			c, text := NewCapture(10, 20), strings.Repeat("abcdefg", 9)[:size]
			for rest := text; rest != ""; rest = rest[min(piece, len(rest)):] {
				_, _ = c.Write([]byte(rest[:min(piece, len(rest))]))
			}
			if size <= 30 && (c.Text() != text || c.Cut()) {
				t.Errorf("%d in pieces of %d: %q", size, piece, c.Text())
			}
			if size > 30 && (string(c.Bytes()) != text[:10]+text[size-20:] || !c.Cut()) {
				t.Errorf("%d in pieces of %d: %q", size, piece, c.Bytes())
			}
		}
	}
}
