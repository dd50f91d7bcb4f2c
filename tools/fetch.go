package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"nod/llm"
)

//go:embed fetch.md
var fetchText string

const fetchParameters = `{"type":"object","properties":{
"url":{"type":"string","minLength":1,"maxLength":4000,"description":"for example https://example.com/page"},
"offset":{"type":"integer","minimum":0,"description":"where to read on, as the last result of this address says"}},
"required":["url"],"additionalProperties":false}`

// Fetch says which hosts may be fetched. Patterns are names, in which * stands
// for any part, IP addresses, or ranges such as 10.0.0.0/8.
//
// With an empty Allow, every public host may. With patterns in it, only those
// that match one. Private addresses are opened only where a pattern names the
// host: it has no *, or at least two parts without one (*.corp.example).
type Fetch struct {
	Allow, Deny []string
}

const (
	// fetchTime is the most that a whole fetch takes, redirects included.
	fetchTime = 40 * time.Second
	// fetchWindow is how many bytes of a text one call shows.
	fetchWindow = 7 << 10
)

// fetcher is a Fetch that is ready to run.
type fetcher struct {
	hosts    *hosts
	client   *http.Client
	reader   reader
	recent   *lru[string, document]
	deadline time.Duration
}

// NewFetch makes the tool that reads a page or a file from the web. It refuses
// patterns that could match no host.
func NewFetch(o Fetch) (Tool, error) {
	f, err := newFetcher(o, net.DefaultResolver)
	if err != nil {
		return Tool{}, fmt.Errorf("set up fetch: %w", err)
	}
	return f.tool(), nil
}

func newFetcher(o Fetch, resolver *net.Resolver) (*fetcher, error) {
	h, err := newHosts(o.Allow, o.Deny)
	if err != nil {
		return nil, err
	}
	return &fetcher{
		hosts: h, client: newFetchClient(h, resolver), reader: newReader(),
		recent: newLRU[string, document](16, 10*time.Minute, time.Now), deadline: fetchTime,
	}, nil
}

func (f *fetcher) tool() Tool {
	return Tool{
		Tool: llm.Tool{
			Name:        "fetch",
			Aliases:     []string{"browse", "open_url"},
			Description: strings.TrimSpace(fetchText),
			Parameters:  json.RawMessage(fetchParameters),
		},
		ReadOnly: true,
		Outside:  true,
		Address:  "url",
		Risk:     Auto,
		Run:      f.run,
	}
}

func (f *fetcher) run(ctx context.Context, in Input) (llm.Result, error) {
	var arg struct {
		URL    string
		Offset int
	}
	if err := json.Unmarshal(in.Args, &arg); err != nil {
		return llm.Result{}, fmt.Errorf("read arguments: %w", err)
	}
	u, err := parseURL(arg.URL)
	if err != nil {
		return failed("nothing was fetched: %v", err), nil
	}
	if arg.Offset > 0 {
		if doc, ok := f.recent.get(u.String()); ok {
			return readOn(doc, arg.Offset), nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, f.deadline)
	defer cancel()
	got, err := f.get(ctx, u)
	if err != nil {
		return failed("nothing was fetched: %v", err), nil
	}
	doc, broken := f.read(ctx, got)
	if broken != nil {
		return failed("the page was fetched, but not read: %v", broken), operatorsPart(broken)
	}
	kept := doc
	if kept.file != nil {
		kept.file = &llm.File{Name: kept.file.Name} // its content is the thread's by now
	}
	f.recent.put(u.String(), kept)
	if arg.Offset > 0 {
		return readOn(doc, arg.Offset), nil
	}
	return firstPart(doc), nil
}

// parseURL understands what people write for an address.
func parseURL(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "://") && !bareScheme.MatchString(text) {
		text = "https://" + strings.TrimPrefix(text, "//")
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" && (u.Scheme == "http" || u.Scheme == "https") {
		return nil, refuse("this is no address; write one such as https://example.com/page")
	}
	u.Fragment = ""
	u.Scheme = strings.ToLower(u.Scheme)
	return u, nil
}

// bareScheme knows addresses without //, which are not hosts with a port.
var bareScheme = regexp.MustCompile(`^(?i:data|javascript|mailto|file|about|blob|tel):`)

// document is a response in a form that a model reads.
type document struct {
	title string
	url   string
	kind  string // what it is, in words
	text  string
	note  string // what is missing from it
	name  string // of a file that holds the text
	file  *llm.File
}

// firstPart shows the beginning of a document. A text that does not fit goes
// along as a file.
func firstPart(doc document) llm.Result {
	r := part(doc, 0)
	if doc.file != nil {
		r.Files = append(r.Files, *doc.file)
	} else if len(doc.text) > fetchWindow {
		r.Files = append(r.Files, llm.File{Name: doc.name, MediaType: "text/markdown; charset=utf-8", Data: []byte(doc.text)})
	}
	return r
}

// readOn shows the part of a document from an offset on.
func readOn(doc document, offset int) llm.Result {
	if offset >= len(doc.text) {
		return failed("there is nothing at offset %d; the text has %d bytes", offset, len(doc.text))
	}
	for !utf8.RuneStart(doc.text[offset]) {
		offset--
	}
	return part(doc, offset)
}

func part(doc document, offset int) llm.Result {
	var b strings.Builder
	if doc.title != "" {
		fmt.Fprintf(&b, "Title: %s\n", oneLine(doc.title, 300))
	}
	fmt.Fprintf(&b, "Address: %s\nThis is %s.", oneLine(doc.url, 600), doc.kind)
	if doc.note != "" {
		fmt.Fprintf(&b, " %s", doc.note)
	}
	end := len(doc.text)
	if end > offset+fetchWindow {
		end = cutBefore(doc.text, offset+fetchWindow)
	}
	switch {
	case end < len(doc.text):
		fmt.Fprintf(&b, "\nBytes %d to %d of %d; read on with offset %d.", offset, end, len(doc.text), end)
		if doc.file == nil {
			fmt.Fprintf(&b, " The whole text is in the file %s.", doc.name)
		}
	case offset > 0:
		fmt.Fprintf(&b, "\nBytes %d to %d of %d, the end.", offset, end, len(doc.text))
	}
	if doc.text != "" {
		b.WriteString("\n\n" + doc.text[offset:end])
	}
	return llm.Result{Text: b.String()}
}

// oneLine makes text fit for a line of a result.
func oneLine(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

var unfitForName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// fileName makes a name for a file out of an address.
func fileName(u *url.URL, extension string) string {
	base := path.Base(u.Path)
	if base == "." || base == "/" {
		base = u.Hostname()
	}
	if old := path.Ext(base); old != "" && old != base && u.Path != "" && path.Base(u.Path) == base {
		base = strings.TrimSuffix(base, old)
	}
	base = strings.Trim(unfitForName.ReplaceAllString(base, "-"), "-.")
	if base == "" {
		base = "page"
	}
	return base[:min(len(base), 60)] + extension
}
