package document

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/ledongthuc/pdf"

	"nod/tools"
)

// pdfPages is how many pages of a PDF are read.
const pdfPages = 500

// readPDF gets the text of a PDF, page by page, in the order in which it was
// written, which is mostly the one in which it is read.
func readPDF(body []byte) (Content, error) {
	body = mendPDF(body)
	r, err := pdf.NewReader(bytes.NewReader(body), int64(len(body)))
	if errors.Is(err, pdf.ErrInvalidPassword) {
		return Content{}, errors.New("it is a PDF that needs a password")
	}
	if err != nil {
		return Content{}, errors.New("it is a PDF that is broken or of an unusual kind")
	}
	c := Content{Title: strings.TrimSpace(r.Trailer().Key("Info").Key("Title").Text())}
	pages := r.NumPage()
	var b strings.Builder
	unread := 0
	for i := range min(pages, pdfPages) {
		text, ok := pdfPage(r, i+1)
		if !ok {
			unread++
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		c.Sections = append(c.Sections, Section{Title: fmt.Sprintf("page %d", i+1), At: b.Len()})
		fmt.Fprintf(&b, "[page %d]\n%s\n\n", i+1, text)
		if b.Len() > tools.FileCap {
			break
		}
	}
	c.Text = strings.TrimSpace(b.String())
	c.Note = fmt.Sprintf("It has %d pages.", pages)
	if pages > pdfPages {
		c.Note += fmt.Sprintf(" Only the first %d were read.", pdfPages)
	}
	if unread > 0 {
		c.Note += fmt.Sprintf(" %d could not be read.", unread)
	}
	return c, nil
}

// mendPDF removes parts that the library can't read and others accept: bytes before the
// header and behind the end, and an unknown version.
func mendPDF(body []byte) []byte {
	if i := bytes.Index(body, []byte("%PDF-")); i > 0 {
		body = body[i:]
	}
	if i := bytes.LastIndex(body, []byte("%%EOF")); i > 0 {
		body = body[:i+len("%%EOF")]
	}
	body = bytes.Clone(body)
	if len(body) > 8 && (body[5] == '2' || body[8] != '\r' && body[8] != '\n') {
		copy(body[5:], "1.7\n")
	}
	return body
}

// pdfPage is the text of one page; a page that is broken does not spoil the
// others.
func pdfPage(r *pdf.Reader, number int) (text string, ok bool) {
	defer func() {
		if recover() != nil {
			text, ok = "", false
		}
	}()
	page := r.Page(number)
	if page.V.IsNull() {
		return "", true
	}
	return pdfLines(page.Content().Text), true
}

// pdfLines makes lines and words of letters that each have a place.
func pdfLines(letters []pdf.Text) string {
	var b strings.Builder
	var last pdf.Text
	for _, t := range letters {
		if t.S == "\n" {
			continue // the library's own, at every end of an operator
		}
		size := math.Max(math.Abs(t.FontSize), 1)
		if last.S != "" {
			down, right := last.Y-t.Y, t.X-(last.X+last.W)
			switch {
			case down > 2.2*size:
				b.WriteString("\n\n")
			case math.Abs(down) > size/2:
				b.WriteByte('\n')
			case right > size*0.2 && last.S != " " && t.S != " ", right < -3*size:
				b.WriteByte(' ')
			}
		}
		b.WriteString(t.S)
		last = t
	}
	return strings.TrimSpace(b.String())
}
