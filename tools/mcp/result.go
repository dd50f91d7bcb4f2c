package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"net/url"
	"path"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/chat"
	"nod/llm"
	"nod/llm/args"
	"nod/tools"
	"nod/tools/mcp/wire"
)

// mostFiles is how many files one result may bring.
const mostFiles = 20

// result makes a result of a server's response: text for the model, and files for the
// thread. Linked are the resources that it links to, as far as they were read.
func result(o offer, in tools.Input, r *sdk.CallToolResult, linked map[string][]*sdk.ResourceContents) llm.Result {
	if r.NeedsInput() {
		return tools.Failed("%s was not done: its server wants to ask a person something in the middle of the call, which is not possible here. Ask for it yourself, if an argument can carry the answer.", o.as)
	}
	w := writer{tool: o.as, linked: linked, taken: slices.Clone(in.Files)}
	texts := false
	for _, c := range r.Content {
		texts = w.content(c) || texts
	}
	if r.StructuredContent != nil && !texts {
		if raw, err := json.Marshal(r.StructuredContent); err == nil {
			w.lines = append(w.lines, string(args.Canonical(raw)))
		}
	}
	out := llm.Result{Text: strings.Join(w.lines, "\n"), Failed: r.IsError, Files: w.files}
	if out.Failed && out.Text == "" {
		out.Text = o.as + " failed; its server does not say why"
	}
	return out
}

// writer collects a result.
type writer struct {
	tool  string
	taken []chat.File // those of the thread and of this result
	lines []string
	files []llm.File
	// linked are the contents of resources, by the address of the link.
	linked map[string][]*sdk.ResourceContents
}

// content adds one piece, and says whether it was text.
func (w *writer) content(c sdk.Content) bool {
	switch c := c.(type) {
	case *sdk.TextContent:
		if c.Text != "" {
			w.lines = append(w.lines, c.Text)
		}
		return strings.TrimSpace(c.Text) != ""
	case *sdk.ImageContent:
		w.file("", c.MIMEType, c.Data)
	case *sdk.AudioContent:
		w.file("", c.MIMEType, c.Data)
	case *sdk.ResourceLink:
		w.lines = append(w.lines, linkLine(c))
		for _, r := range w.linked[c.URI] {
			w.fetched(c.URI, r)
		}
		delete(w.linked, c.URI)
	case *sdk.EmbeddedResource:
		return w.resource(c.Resource)
	default:
		w.lines = append(w.lines, wire.Unshown)
	}
	return false
}

// resource adds the content of a resource.
func (w *writer) resource(r *sdk.ResourceContents) bool {
	switch {
	case r == nil:
		return false
	case r.Blob != nil:
		w.file(base(r.URI), r.MIMEType, r.Blob)
		return false
	}
	w.lines = append(w.lines, fmt.Sprintf("%s:\n%s", r.URI, r.Text))
	return true
}

// fetched adds the content of a resource that the result links to. It is a file that is
// not posted: nobody asked for it yet.
func (w *writer) fetched(uri string, r *sdk.ResourceContents) {
	n := len(w.files)
	data := r.Blob
	if data == nil {
		data = []byte(r.Text)
	}
	w.file(base(uri), cmp.Or(r.MIMEType, "text/plain"), data)
	if len(w.files) > n {
		w.files[n].Quiet = true
	}
}

// linkLine names a resource that a server did not send with its result.
func linkLine(l *sdk.ResourceLink) string {
	text := "resource " + l.URI
	for _, more := range []string{l.Name, l.Title, l.Description, l.MIMEType} {
		if more != "" {
			text += "; " + more
		}
	}
	return text
}

// base is the last part of an address.
func base(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Path == "" {
		return ""
	}
	return path.Base(u.Path)
}

// file adds a file and a line about it. Its name is a server's, and so is made
// fit for every disk and platform, and free in the thread.
func (w *writer) file(name, media string, data []byte) {
	if len(w.files) == mostFiles {
		w.lines = append(w.lines, fmt.Sprintf("(there are more than %d files; the others are left out)", mostFiles))
	}
	if len(w.files) >= mostFiles || len(data) == 0 {
		return
	}
	kind, _, err := mime.ParseMediaType(media)
	if err != nil || !strings.Contains(kind, "/") {
		kind = "application/octet-stream"
	}
	if name == "" || name == "." || name == "/" {
		name = w.tool
	}
	if path.Ext(name) == "" {
		name += cmp.Or(extensions[kind], ".bin")
	}
	f := llm.File{Name: tools.FreeName(w.taken, chat.FileName(name)), MediaType: kind, Data: data}
	w.taken, w.files = append(w.taken, chat.File{Name: f.Name}), append(w.files, f)
	w.lines = append(w.lines, fmt.Sprintf("file %s (%s, %d bytes)", f.Name, kind, len(data)))
}

// extensions are those that people know; a machine's own table gives others.
var extensions = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
	"audio/wav": ".wav", "audio/x-wav": ".wav", "audio/mpeg": ".mp3", "audio/ogg": ".ogg", "audio/flac": ".flac",
	"application/pdf": ".pdf", "application/json": ".json", "application/zip": ".zip",
	"text/plain": ".txt", "text/csv": ".csv", "text/html": ".html", "text/markdown": ".md",
}
