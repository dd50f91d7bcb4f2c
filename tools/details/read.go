package details

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strings"

	"nod/chat"
	"nod/tools"
	"nod/tools/document"
)

// paper is an artifact as text that is read in parts.
type paper struct {
	name     string
	kind     string // in words
	note     string // missing parts, and other remarks
	size     int    // bytes of the file
	text     string // "": there is none
	count    int    // lines of text
	sections []document.Section
	columns  string // of a table
}

// sectionsMost limits the known sections of a text.
const sectionsMost = 2000

// read makes text of a file. The bytes decide its kind, before its name and its
// sender's word. An error is a *[tools.Refusal], in words for the model, or concerns
// the operator.
func (d reading) read(ctx context.Context, file chat.File, body []byte) (paper, error) {
	p := paper{name: tools.OneLine(file.Name, 200), size: max(len(body), int(file.Size))}
	if len(body) < p.size {
		p.note = "Only its beginning was kept."
	}
	mediaType, _, wrong := mime.ParseMediaType(file.MediaType)
	if wrong != nil {
		mediaType = ""
	}
	extension := strings.ToLower(path.Ext(file.Name))
	sniffed, _, _ := strings.Cut(http.DetectContentType(body), ";")
	var err error
	switch kind := document.KindOf(body); {
	case len(bytes.TrimSpace(body)) == 0:
		p.kind = "empty"
		return p, nil
	case kind != "":
		err = d.readDocument(ctx, &p, document.Source{Kind: kind}, body)
	case strings.HasPrefix(sniffed, "image/"):
		err = p.readPicture(sniffed, body)
	case document.IsHTML(mediaType, sniffed) || extension == ".html" || extension == ".htm":
		err = d.readDocument(ctx, &p, document.Source{Kind: document.HTML}, []byte(document.Decode(file.MediaType, body, false)))
	case document.IsText(mediaType, body) || document.IsText("", body):
		err = d.readText(ctx, &p, mediaType, extension, document.Decode(file.MediaType, body, false))
	default:
		if mediaType == "" || mediaType == "application/octet-stream" {
			mediaType = sniffed
		}
		err = tools.Refuse("it is %s, of which there is no text", tools.OneLine(mediaType, 100))
	}
	p.count = document.Lines(p.text)
	return p, err
}

// readDocument has a file read by the process that reads documents.
func (d reading) readDocument(ctx context.Context, p *paper, s document.Source, body []byte) error {
	got, err := d.reader.Read(ctx, s, body)
	if err != nil {
		return err
	}
	p.text, p.sections = got.Text, got.Sections
	p.note = strings.TrimSpace(p.note + " " + tools.OneLine(got.Note, 200))
	p.kind = "a web page, as text"
	if s.Kind != document.HTML {
		p.kind = document.Formats[s.Kind].Words
	}
	if len(p.sections) == 0 {
		p.sections = headings(p.text)
	}
	if p.text == "" {
		p.note = strings.TrimSpace(p.note + " There is no text in it; it may consist of scanned pictures.")
	}
	return nil
}

// readPicture describes a picture as far as words can.
func (p *paper) readPicture(mediaType string, body []byte) error {
	picture, err := document.PictureOf(mediaType, body)
	if err != nil {
		return err
	}
	p.kind = picture.Words
	p.note = strings.TrimSpace(p.note + " It cannot be read as text.")
	return nil
}

// readText finds the structure of a text.
func (d reading) readText(ctx context.Context, p *paper, mediaType, extension, text string) error {
	p.kind, p.text = "a text file", text
	switch {
	case extension == ".csv" || extension == ".tsv" || mediaType == "text/csv" || mediaType == "text/tab-separated-values":
		return d.readTable(ctx, p, extension == ".tsv" || mediaType == "text/tab-separated-values")
	case extension == ".json" || strings.HasSuffix(mediaType, "json"):
		p.readJSON()
	case extension == ".md" || extension == ".markdown" || extension == ".txt" || extension == "" || mediaType == "text/markdown":
		p.sections = headings(text)
	}
	return nil
}

// readTable has the process that reads documents find the columns and count the rows.
func (d reading) readTable(ctx context.Context, p *paper, tabs bool) error {
	comma := byte(',')
	first, _, _ := strings.Cut(p.text, "\n")
	if tabs {
		comma = '\t'
	} else if strings.Count(first, ";") > strings.Count(first, ",") {
		comma = ';' // where the comma is the decimal point
	}
	got, err := d.reader.Read(ctx, document.Source{Kind: document.CSV, Comma: comma}, []byte(p.text))
	if t := got.Table; err == nil && t.Columns > 0 {
		p.columns = tools.OneLine(strings.Join(t.Names, ", "), 400)
		p.kind = fmt.Sprintf("a table with %d columns and %d rows", t.Columns, t.Rows)
	}
	return err
}

// jsonLine is how long a line of JSON may be before it is written on several.
const jsonLine = 2000

// readJSON finds the keys, and gives a text lines that has none.
func (p *paper) readJSON() {
	if !json.Valid([]byte(p.text)) {
		return // a value a line, or no JSON at all
	}
	if longest(p.text) > jsonLine && indented(p.text) <= 4*len(p.text)+1<<20 { // deep nesting would be mostly spaces
		var b bytes.Buffer
		if err := json.Indent(&b, []byte(p.text), "", " "); err == nil {
			p.text = b.String()
			p.note = strings.TrimSpace(p.note + " It is shown with one value a line.")
		}
	}
	keys, items := topLevel(p.text)
	p.sections = keys
	p.kind = "a JSON value"
	switch strings.TrimSpace(p.text)[0] {
	case '{':
		p.kind = fmt.Sprintf("a JSON object with %d keys", items)
	case '[':
		p.kind = fmt.Sprintf("a JSON list of %d values", items)
	}
}

// topLevel lists the keys of a JSON object, and counts the values of an object or a list.
func topLevel(text string) (keys []document.Section, items int) {
	d := json.NewDecoder(strings.NewReader(text))
	for kind, _ := d.Token(); d.More(); items++ {
		if kind == json.Delim('{') {
			at := int(d.InputOffset())
			key, _ := d.Token() // the text was found valid
			if name, ok := key.(string); ok && len(keys) < sectionsMost {
				keys = append(keys, document.Section{Title: tools.OneLine(name, 100), At: at + strings.IndexByte(text[at:], '"')})
			}
		}
		if d.Decode(&json.RawMessage{}) != nil {
			break
		}
	}
	return keys, items
}

// indented is about how many bytes valid JSON has when every value has a line of its own.
func indented(text string) int {
	size, depth, quoted := len(text), 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			size += depth + 1
		case c == '}' || c == ']':
			depth--
			size += depth + 1
		case c == ',':
			size += depth + 1
		}
	}
	return size
}

// longest is the number of bytes of the longest line.
func longest(text string) int {
	most := 0
	for line := range strings.Lines(text) {
		most = max(most, len(line))
	}
	return most
}

// headings finds the headings of Markdown, outside of code.
func headings(text string) []document.Section {
	var out []document.Section
	at, fence := 0, ""
	for line := range strings.Lines(text) {
		start := at
		at += len(line)
		trimmed := strings.TrimSpace(strings.ToValidUTF8(line[:min(len(line), 400)], ""))
		switch mark := trimmed[:min(3, len(trimmed))]; {
		case fence != "":
			if mark == fence {
				fence = ""
			}
			continue
		case mark == "```" || mark == "~~~":
			fence = mark
			continue
		}
		title := strings.TrimLeft(trimmed, "#")
		level := len(trimmed) - len(title)
		if level == 0 || level > 6 || !strings.HasPrefix(title, " ") {
			continue
		}
		if len(out) == sectionsMost {
			break
		}
		out = append(out, document.Section{Title: tools.OneLine(strings.TrimRight(title, "# "), 100), Level: level, At: start})
	}
	return out
}
