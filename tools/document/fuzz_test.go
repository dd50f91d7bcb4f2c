package document

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"nod/internal/tooltest"
	"nod/tools"
)

// A reader of any bytes gives a bounded text with its sections, or words for the model.
// It takes bounded memory of the bot's own process: unbounded work ends with the
// process that reads.
func FuzzDocument(f *testing.F) {
	page := `<h1>a</h1><p>b<table><tr><td>c</table><img src="data:,x">`
	for _, body := range [][]byte{
		tooltest.PDF("one", "two"), tooltest.PDF("one")[:200], tooltest.HugeXref(), tooltest.PDFWith("BT (a) Tj", "/Filter/FlateDecode"),
		tooltest.PDFWith(strings.Repeat("BT /F1 9 Tf (aaaaaaaa) Tj ET ", 1000), "/Filter/FlateDecode"),
		tooltest.DOCX("<p><t>a</t></p>"), tooltest.DOCX("</p>"), tooltest.Zip(map[string][]byte{"word/document.xml": []byte(strings.Repeat("<p>", 1000))}),
		tooltest.XLSX(f), tooltest.Zip(map[string][]byte{"xl/workbook.xml": []byte(`<workbook><sheets><sheet name="S"/></sheets></workbook>`)}),
		[]byte(page), []byte(strings.Repeat("<div>", 5000)), []byte("\x00\xff\xfe"), nil,
	} {
		f.Add(uint8(0), body)
		f.Add(uint8(1), body)
		f.Add(uint8(9), body) // as CSV
	}
	r := NewReader()
	r.Env = []string{"GORACE=atexit_sleep_ms=0"} // the race detector waits a second at every exit
	r.Time, r.Memory = 5*time.Second, 256<<20
	f.Fuzz(func(t *testing.T, kind uint8, body []byte) {
		s := Source{Kind: KindOf(body)} // what it says that it is, or a page
		if s.Kind == "" || kind%2 == 1 {
			s.Kind = []string{HTML, PDF, DOCX, XLSX, CSV}[kind/2%5]
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := r.Read(t.Context(), s, body)
		runtime.ReadMemStats(&after)
		if refusal := (*tools.Refusal)(nil); err != nil && !errors.As(err, &refusal) {
			t.Fatalf("%s: %v is no word for the model", s.Kind, err)
		}
		if most := 16<<20 + 64*uint64(len(body)+len(got.Text)); after.TotalAlloc-before.TotalAlloc > most {
			t.Errorf("%s of %d bytes took %d of the bot's memory, want %d at most", s.Kind, len(body), after.TotalAlloc-before.TotalAlloc, most)
		}
		if len(got.Text) > tools.FileCap || !utf8.ValidString(got.Text) {
			t.Errorf("%s: a text of %d bytes", s.Kind, len(got.Text))
		}
		at := 0
		for _, section := range got.Sections {
			if section.At < at || section.At >= len(got.Text) {
				t.Errorf("%s: section %q begins at %d of %d", s.Kind, section.Title, section.At, len(got.Text))
			}
			at = section.At
		}
	})
}
