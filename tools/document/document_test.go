package document

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"nod/internal/tooltest"
)

// patient makes a reader that stops for no slow machine.
func patient() Reader {
	r := NewReader()
	r.Time = 10 * time.Minute
	r.Env = []string{"GORACE=atexit_sleep_ms=0"} // the race detector waits a second at every exit
	return r
}

func TestReaderNeedsAKind(t *testing.T) {
	r := patient()
	if _, err := r.Read(t.Context(), Source{Kind: "exe"}, nil); err == nil || !strings.Contains(err.Error(), "nobody reads") {
		t.Error(err)
	}
}

// TestReaderEndsByItself reads what loops for ever, with nobody but the process
// itself to end it.
func TestReaderEndsByItself(t *testing.T) {
	r := patient()
	r.Time = 300 * time.Millisecond
	if _, err := r.Read(t.Context(), Source{Kind: PDF}, tooltest.PDFWith("BT <41", "")); err == nil || !strings.Contains(err.Error(), "took too long") {
		t.Error(err)
	}
}

func TestReaderBoundsMemory(t *testing.T) {
	r := patient()
	r.Memory = 48 << 20
	bomb := tooltest.PDFWith(strings.Repeat("BT /F1 9 Tf (aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa) Tj ET ", 30_000), "/Filter/FlateDecode")
	if _, err := r.Read(t.Context(), Source{Kind: PDF}, bomb); err == nil || !strings.Contains(err.Error(), "too much memory") {
		t.Error(err)
	}
}

// TestZipThatLies says that its file is small.
func TestZipThatLies(t *testing.T) {
	body := tooltest.Zip(map[string][]byte{"word/document.xml": bytes.Repeat([]byte("<a/>"), 1000)})
	at := bytes.LastIndex(body, []byte("PK\x01\x02")) + 24 // its directory entry's size
	copy(body[at:], []byte{1, 0, 0, 0})
	if _, err := readDOCX(body); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Error(err)
	}
}

func TestReaderWaitsForASlot(t *testing.T) {
	r := NewReader()
	for range 2 {
		if err := r.lanes.Enter(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Read(ctx, Source{Kind: HTML}, nil); err == nil || !strings.Contains(err.Error(), "no time left") {
		t.Error(err)
	}
}

func FuzzReadDOCX(f *testing.F) {
	f.Add([]byte("<p><t>a</t></p>"))
	f.Add([]byte("</p>"))
	f.Fuzz(func(_ *testing.T, body []byte) {
		_, _ = readDOCX(tooltest.Zip(map[string][]byte{"word/document.xml": body}))
	})
}

func FuzzReadHTML(f *testing.F) {
	f.Add([]byte("<title>a</title><article><p>b<table><tr><td>c"))
	f.Add([]byte(`<img src="data:,x"><a href=data:x><b>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := readHTML("https://example.com/a", body)
		if err == nil && strings.Contains(got.Text, "\x00") {
			t.Error("a zero byte came through")
		}
	})
}
