package fetch

import (
	"bytes"
	"context"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strings"

	"nod/llm"
	"nod/tools"
	"nod/tools/document"
	"nod/tools/web"
)

// read makes a document of a response. The bytes decide its kind, before the server's
// word, which is often wrong. An error is a *[tools.Refusal], in words for the model,
// or concerns the operator.
func read(ctx context.Context, reader document.Reader, r web.Response) (page, error) {
	mediaType, _, err := mime.ParseMediaType(r.ContentType)
	if err != nil {
		mediaType = ""
	}
	doc := page{url: r.URL.String(), name: fileName(r.URL, ".md")}
	if len(bytes.TrimSpace(r.Body)) == 0 {
		doc.kind = "an empty answer: there is no text in it"
		return doc, nil
	}
	sniffed, _, _ := strings.Cut(http.DetectContentType(r.Body), ";")
	switch kind := document.KindOf(r.Body); {
	case kind != "" && r.Cut:
		return doc, tools.Refuse("it is a file of more than %d MB, which is too large", web.SizeMost>>20)
	case kind != "":
		return readFile(ctx, reader, kind, r, doc)
	case strings.HasPrefix(sniffed, "image/"):
		return readPicture(sniffed, r, doc)
	case document.IsHTML(mediaType, sniffed):
		return readPage(ctx, reader, r, doc)
	case document.IsText(mediaType, r.Body):
		return readText(mediaType, r, doc)
	}
	if mediaType == "" || mediaType == "application/octet-stream" || strings.HasPrefix(mediaType, "text/") {
		mediaType = sniffed
	}
	return doc, tools.Refuse("it is %s, of which there is no text; look for a page, or a PDF, DOCX, XLSX or text file", tools.OneLine(mediaType, 100))
}

// readPage reads a web page.
func readPage(ctx context.Context, reader document.Reader, r web.Response, doc page) (page, error) {
	got, err := reader.Read(ctx, document.Source{Kind: document.HTML, URL: doc.url}, []byte(document.Decode(r.ContentType, r.Body, r.Cut)))
	if err != nil {
		return doc, err
	}
	doc.kind, doc.title, doc.text = "a web page", got.Title, got.Text
	if r.Cut {
		doc.note = fmt.Sprintf("Only its first %d MB were read.", web.SizeMost>>20)
	}
	if doc.text == "" {
		doc.note += " There is no text in it: it may be made by scripts, which this tool does not run."
	}
	return doc, nil
}

// readFile reads a file that only a program can read. A spreadsheet goes into
// the thread as it is, so that there is something to calculate with.
func readFile(ctx context.Context, reader document.Reader, kind string, r web.Response, doc page) (page, error) {
	got, err := reader.Read(ctx, document.Source{Kind: kind}, r.Body)
	if err != nil {
		return doc, err
	}
	k := document.Formats[kind]
	doc.kind, doc.title, doc.text, doc.note = k.Words, got.Title, got.Text, got.Note
	if kind == document.XLSX {
		doc.file = &llm.File{Name: fileName(r.URL, k.Extension), MediaType: k.MediaType, Data: r.Body}
		doc.note = strings.TrimSpace(doc.note + " It is in the file " + doc.file.Name + ".")
	}
	if doc.text == "" {
		doc.note = strings.TrimSpace(doc.note + " There is no text in it; it may consist of scanned pictures.")
	}
	return doc, nil
}

// readText passes text on as it is. A table goes into the thread as a file.
func readText(mediaType string, r web.Response, doc page) (page, error) {
	doc.kind, doc.text = "a text file", document.Decode(r.ContentType, r.Body, r.Cut)
	if r.Cut {
		doc.note = fmt.Sprintf("Only its first %d MB were read.", web.SizeMost>>20)
	}
	extension := strings.ToLower(path.Ext(r.URL.Path))
	if mediaType == "text/csv" || mediaType == "application/csv" {
		extension = ".csv"
	}
	if mediaType == "text/tab-separated-values" {
		extension = ".tsv"
	}
	if extension == ".csv" || extension == ".tsv" {
		doc.file = &llm.File{Name: fileName(r.URL, extension), MediaType: "text/csv; charset=utf-8", Data: []byte(doc.text)}
		doc.kind = "a table as text"
		doc.note = strings.TrimSpace(fmt.Sprintf("%s It has %d lines, and is in the file %s.", doc.note, document.Lines(doc.text), doc.file.Name))
	}
	if len(doc.text) > tools.FileCap {
		doc.text = doc.text[:tools.CutBefore(doc.text, tools.FileCap)]
	}
	return doc, nil
}

// readPicture takes a picture along.
func readPicture(mediaType string, r web.Response, doc page) (page, error) {
	if r.Cut {
		return doc, tools.Refuse("it is a picture of more than %d MB, which is too large", web.SizeMost>>20)
	}
	p, err := document.PictureOf(mediaType, r.Body)
	if err != nil {
		return doc, err
	}
	doc.file = &llm.File{Name: fileName(r.URL, p.Extension), MediaType: mediaType, Data: r.Body}
	doc.kind = fmt.Sprintf("%s, in the file %s", p.Words, doc.file.Name)
	return doc, nil
}
