package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // only their headers are read, to learn the size
	_ "image/jpeg" // the same
	_ "image/png"  // the same
	"io"
	"mime"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"

	_ "golang.org/x/image/webp" // the same
	"golang.org/x/net/html/charset"

	"nod/llm"
)

// read makes a document of what a server sent. What it is, the bytes themselves
// say before the server's word for it, which is often wrong. An error is a
// *refusal, in words for the model, or the operator's business.
func (f *fetcher) read(ctx context.Context, r response) (document, error) {
	mediaType, _, err := mime.ParseMediaType(r.contentType)
	if err != nil {
		mediaType = ""
	}
	doc := document{url: r.url.String(), name: fileName(r.url, ".md")}
	if len(bytes.TrimSpace(r.body)) == 0 {
		doc.kind = "an empty answer: there is no text in it"
		return doc, nil
	}
	sniffed, _, _ := strings.Cut(http.DetectContentType(r.body), ";")
	switch kind := documentKind(r.body); {
	case kind != "" && r.cut:
		return doc, refuse("it is a file of more than %d MB, which is too large", fetchMost>>20)
	case kind != "":
		return f.readFile(ctx, kind, r, doc)
	case strings.HasPrefix(sniffed, "image/"):
		return readImage(sniffed, r, doc)
	case isHTML(mediaType, sniffed):
		return f.readPage(ctx, r, doc)
	case isText(mediaType, r.body):
		return readText(mediaType, r, doc)
	}
	if mediaType == "" || mediaType == "application/octet-stream" || strings.HasPrefix(mediaType, "text/") {
		mediaType = sniffed
	}
	return doc, refuse("it is %s, of which there is no text; look for a page, or a PDF, DOCX, XLSX or text file", oneLine(mediaType, 100))
}

// documentKind knows the files that only a program can read by their first
// bytes; "" is any other.
func documentKind(body []byte) string {
	if bytes.Contains(body[:min(len(body), 1024)], []byte("%PDF-")) {
		return kindPDF
	}
	if !bytes.HasPrefix(body, []byte("PK\x03\x04")) {
		return ""
	}
	switch {
	case bytes.Contains(body, []byte("word/document.xml")): // names stand in a zip as they are
		return kindDOCX
	case bytes.Contains(body, []byte("xl/workbook.xml")):
		return kindXLSX
	}
	return ""
}

func isHTML(mediaType, sniffed string) bool {
	switch mediaType {
	case "text/html", "application/xhtml+xml":
		return true
	case "", "application/octet-stream", "text/plain":
		return sniffed == "text/html"
	}
	return false
}

// isText knows text by its type, and what has no useful type by its bytes.
func isText(mediaType string, body []byte) bool {
	if bytes.IndexByte(body[:min(len(body), 4096)], 0) >= 0 && !hasUTF16Mark(body) {
		return false
	}
	switch {
	case strings.HasPrefix(mediaType, "text/"), strings.HasSuffix(mediaType, "+json"), strings.HasSuffix(mediaType, "+xml"):
		return true
	}
	switch strings.TrimPrefix(mediaType, "application/") {
	case "json", "xml", "javascript", "x-javascript", "yaml", "x-yaml", "toml", "x-ndjson", "jsonl", "sql", "csv", "x-sh":
		return true
	case "", "octet-stream", "vnd.ms-excel": // the last is what some servers call CSV
		return utf8.Valid(body[:lastRune(body)]) || hasUTF16Mark(body)
	}
	return false
}

func hasUTF16Mark(body []byte) bool {
	return bytes.HasPrefix(body, []byte("\xff\xfe")) || bytes.HasPrefix(body, []byte("\xfe\xff"))
}

// lastRune is where a rune that was cut at the end begins.
func lastRune(body []byte) int {
	for i := len(body) - 1; i >= max(len(body)-utf8.UTFMax, 0); i-- {
		if utf8.RuneStart(body[i]) && !utf8.FullRune(body[i:]) {
			return i
		}
	}
	return len(body)
}

// decode brings text into UTF-8, by its mark, its type, what a page says of
// itself, and what is likely.
func decode(r response) string {
	body := r.body
	if r.cut {
		body = body[:lastRune(body)]
	}
	mark := hasUTF16Mark(body) || bytes.HasPrefix(body, []byte("\xef\xbb\xbf"))
	if _, params, err := mime.ParseMediaType(r.contentType); !mark && utf8.Valid(body) && (err != nil || params["charset"] == "") {
		return string(body)
	}
	encoding, name, _ := charset.DetermineEncoding(body[:min(len(body), 4096)], r.contentType)
	if name == "windows-1252" && utf8.Valid(body) {
		return string(body) // a wrong word for ASCII or UTF-8 more often than not
	}
	text, err := io.ReadAll(encoding.NewDecoder().Reader(bytes.NewReader(body)))
	if err != nil {
		text = body
	}
	return strings.ToValidUTF8(strings.TrimPrefix(string(text), "\ufeff"), "\ufffd")
}

// readPage reads a web page.
func (f *fetcher) readPage(ctx context.Context, r response, doc document) (document, error) {
	got, err := f.reader.read(ctx, source{Kind: kindHTML, URL: doc.url}, []byte(decode(r)))
	if err != nil {
		return doc, err
	}
	doc.kind, doc.title, doc.text = "a web page", got.Title, got.Text
	if r.cut {
		doc.note = fmt.Sprintf("Only its first %d MB were read.", fetchMost>>20)
	}
	if doc.text == "" {
		doc.note += " There is no text in it: it may be made by scripts, which this tool does not run."
	}
	return doc, nil
}

var fileKinds = map[string]struct{ words, extension, mediaType string }{
	kindPDF:  {"a PDF file, as text", ".pdf", "application/pdf"},
	kindDOCX: {"a Word file, as text", ".docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
	kindXLSX: {"a spreadsheet, each sheet as CSV", ".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
}

// readFile reads a file that only a program can read. A spreadsheet goes into
// the thread as it is, so that there is something to calculate with.
func (f *fetcher) readFile(ctx context.Context, kind string, r response, doc document) (document, error) {
	got, err := f.reader.read(ctx, source{Kind: kind}, r.body)
	if err != nil {
		return doc, err
	}
	k := fileKinds[kind]
	doc.kind, doc.title, doc.text, doc.note = k.words, got.Title, got.Text, got.Note
	if kind == kindXLSX {
		doc.file = &llm.File{Name: fileName(r.url, k.extension), MediaType: k.mediaType, Data: r.body}
		doc.note = strings.TrimSpace(doc.note + " It is in the file " + doc.file.Name + ".")
	}
	if doc.text == "" {
		doc.note = strings.TrimSpace(doc.note + " There is no text in it; it may consist of scanned pictures.")
	}
	return doc, nil
}

// readText passes text on as it is. A table goes into the thread as a file.
func readText(mediaType string, r response, doc document) (document, error) {
	doc.kind, doc.text = "a text file", decode(r)
	if r.cut {
		doc.note = fmt.Sprintf("Only its first %d MB were read.", fetchMost>>20)
	}
	extension := strings.ToLower(path.Ext(r.url.Path))
	if mediaType == "text/csv" || mediaType == "application/csv" {
		extension = ".csv"
	}
	if mediaType == "text/tab-separated-values" {
		extension = ".tsv"
	}
	if extension == ".csv" || extension == ".tsv" {
		doc.file = &llm.File{Name: fileName(r.url, extension), MediaType: "text/csv; charset=utf-8", Data: []byte(doc.text)}
		doc.kind = "a table as text"
		doc.note = strings.TrimSpace(fmt.Sprintf("%s It has %d lines, and is in the file %s.", doc.note, lines(doc.text), doc.file.Name))
	}
	if len(doc.text) > FileCap {
		doc.text = doc.text[:cutBefore(doc.text, FileCap)]
	}
	return doc, nil
}

func lines(text string) int {
	n := strings.Count(text, "\n")
	if !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// readImage takes a picture along. It is not decoded: a small file can be a
// picture of many gigabytes.
func readImage(mediaType string, r response, doc document) (document, error) {
	extension, ok := map[string]string{"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}[mediaType]
	if !ok {
		return doc, refuse("it is a picture of type %s; only PNG, JPEG, GIF and WebP can be looked at", mediaType)
	}
	if r.cut {
		return doc, refuse("it is a picture of more than %d MB, which is too large", fetchMost>>20)
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(r.body))
	if err != nil {
		return doc, refuse("it is a broken picture")
	}
	if size.Width*size.Height > 100_000_000 {
		return doc, refuse("it is a picture of %d × %d pixels, which is too large", size.Width, size.Height)
	}
	doc.file = &llm.File{Name: fileName(r.url, extension), MediaType: mediaType, Data: r.body}
	doc.kind = fmt.Sprintf("a picture (%s, %d × %d pixels, %d KB), in the file %s",
		strings.TrimPrefix(mediaType, "image/"), size.Width, size.Height, (len(r.body)+1023)>>10, doc.file.Name)
	return doc, nil
}

// operatorsPart is the error, unless the model alone has to know of it.
func operatorsPart(err error) error {
	var r *refusal
	if errors.As(err, &r) {
		return nil
	}
	return err
}
