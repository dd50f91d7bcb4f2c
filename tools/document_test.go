package tools

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// pdfOf is a PDF of one page with these lines.
func pdfOf(lines ...string) []byte {
	var b strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&b, "BT /F1 12 Tf 72 %d Td (%s) Tj ET\n", 700-14*i, line)
	}
	return pdfWith(b.String(), "")
}

// pdfWith is a PDF of one page that is drawn by a program, which is compressed
// where the stream's header says so.
func pdfWith(program, header string) []byte {
	stream := []byte(program)
	if strings.Contains(header, "FlateDecode") {
		var z bytes.Buffer
		w := zlib.NewWriter(&z)
		_, _ = w.Write(stream)
		_ = w.Close()
		stream = z.Bytes()
	}
	objects := []string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
		fmt.Sprintf("<</Length %d%s>>\nstream\n%s\nendstream", len(stream), header, stream),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding/FirstChar 32/LastChar 126/Widths[" + strings.Repeat("500 ", 95) + "]>>",
	}
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	offsets := make([]int, len(objects))
	for i, o := range objects {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d /Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return b.Bytes()
}

// hugeXref is a PDF of a few bytes that says that it has two thousand million
// objects.
func hugeXref() []byte {
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	_, _ = w.Write(bytes.Repeat([]byte{1, 0, 0, 0}, 100))
	_ = w.Close()
	head := "%PDF-1.5\n" + strings.Repeat("% padding, as the last hundred bytes are looked at for the end\n", 3)
	return fmt.Appendf(nil, "%s1 0 obj\n<</Type/XRef/Size 2000000000/W[1 2 1]/Length %d/Filter/FlateDecode>>\nstream\n%s\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n",
		head, z.Len(), z.Bytes(), len(head))
}

func TestReaderNeedsAKind(t *testing.T) {
	r := newReader()
	r.env = []string{"GORACE=atexit_sleep_ms=0"}
	if _, err := r.read(t.Context(), source{Kind: "exe"}, nil); err == nil || !strings.Contains(err.Error(), "nobody reads") {
		t.Error(err)
	}
}

// TestReaderEndsByItself reads what loops for ever, with nobody but the process
// itself to end it.
func TestReaderEndsByItself(t *testing.T) {
	r := newReader()
	r.time = 300 * time.Millisecond
	if _, err := r.read(t.Context(), source{Kind: kindPDF}, pdfWith("BT <41", "")); err == nil || !strings.Contains(err.Error(), "took too long") {
		t.Error(err)
	}
}

func TestReaderBoundsMemory(t *testing.T) {
	r := newReader()
	r.memory = 48 << 20
	bomb := pdfWith(strings.Repeat("BT /F1 9 Tf (aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa) Tj ET ", 30_000), "/Filter/FlateDecode")
	if _, err := r.read(t.Context(), source{Kind: kindPDF}, bomb); err == nil || !strings.Contains(err.Error(), "too much memory") {
		t.Error(err)
	}
}

// TestZipThatLies says that its file is small.
func TestZipThatLies(t *testing.T) {
	body := zipOf(map[string][]byte{"word/document.xml": bytes.Repeat([]byte("<a/>"), 1000)})
	at := bytes.LastIndex(body, []byte("PK\x01\x02")) + 24 // its directory entry's size
	copy(body[at:], []byte{1, 0, 0, 0})
	if _, err := readDOCX(body); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Error(err)
	}
}

func TestReaderWaitsForASlot(t *testing.T) {
	r := newReader()
	for range cap(r.slots) {
		r.slots <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.read(ctx, source{Kind: kindHTML}, nil); err == nil || !strings.Contains(err.Error(), "no time left") {
		t.Error(err)
	}
}

func FuzzReadDOCX(f *testing.F) {
	f.Add([]byte("<p><t>a</t></p>"))
	f.Add([]byte("</p>"))
	f.Fuzz(func(_ *testing.T, body []byte) {
		_, _ = readDOCX(zipOf(map[string][]byte{"word/document.xml": body}))
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
