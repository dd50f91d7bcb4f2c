package document

import (
	"bytes"
	"io"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// Format describes a kind of document.
type Format struct{ Words, Extension, MediaType string }

// Formats describe the kinds of document that only a program can read.
var Formats = map[string]Format{
	PDF:  {"a PDF file, as text", ".pdf", "application/pdf"},
	DOCX: {"a Word file, as text", ".docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
	XLSX: {"a spreadsheet, each sheet as CSV", ".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
}

// KindOf knows the files that only a program can read by their first bytes; "" is
// any other.
func KindOf(body []byte) string {
	if bytes.Contains(body[:min(len(body), 1024)], []byte("%PDF-")) {
		return PDF
	}
	if !bytes.HasPrefix(body, []byte("PK\x03\x04")) {
		return ""
	}
	switch {
	case bytes.Contains(body, []byte("word/document.xml")): // names stand in a zip as they are
		return DOCX
	case bytes.Contains(body, []byte("xl/workbook.xml")):
		return XLSX
	}
	return ""
}

// IsHTML knows a web page by the type that it came with, and by the one that its
// bytes look like.
func IsHTML(mediaType, sniffed string) bool {
	switch mediaType {
	case "text/html", "application/xhtml+xml":
		return true
	case "", "application/octet-stream", "text/plain":
		return sniffed == "text/html"
	}
	return false
}

// IsText recognises text by its type, and without a useful type by its bytes.
func IsText(mediaType string, body []byte) bool {
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
	case "", "octet-stream", "vnd.ms-excel": // some servers call CSV vnd.ms-excel
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

// Decode converts text to UTF-8, by its mark, its type, the page's own word, and
// likelihood. A cut text may end within a letter.
func Decode(contentType string, body []byte, cut bool) string {
	if cut {
		body = body[:lastRune(body)]
	}
	mark := hasUTF16Mark(body) || bytes.HasPrefix(body, []byte("\xef\xbb\xbf"))
	if _, params, err := mime.ParseMediaType(contentType); !mark && utf8.Valid(body) && (err != nil || params["charset"] == "") {
		return string(body)
	}
	encoding, name, _ := charset.DetermineEncoding(body[:min(len(body), 4096)], contentType)
	if name == "windows-1252" && utf8.Valid(body) {
		return string(body) // a wrong word for ASCII or UTF-8 more often than not
	}
	text, err := io.ReadAll(encoding.NewDecoder().Reader(bytes.NewReader(body)))
	if err != nil {
		text = body
	}
	return strings.ToValidUTF8(strings.TrimPrefix(string(text), "\ufeff"), "\ufffd")
}

// Lines counts the lines of a text.
func Lines(text string) int {
	n := strings.Count(text, "\n")
	if !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}
