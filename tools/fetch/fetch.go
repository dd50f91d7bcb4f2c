// Package fetch is the tool that reads a page or a file from the web.
package fetch

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"nod/chat/bounded"
	"nod/llm"
	"nod/tools"
	"nod/tools/document"
	"nod/tools/web"
)

//go:embed fetch.md
var prose string

const parameters = `{"type":"object","properties":{
"url":{"type":"string","minLength":1,"maxLength":4000,"description":"for example https://example.com/page"},
"offset":{"type":"integer","minimum":0,"description":"where to read on, as the last result of this address says"}},
"required":["url"],"additionalProperties":false}`

// Keys are the keys of tools.fetch: which hosts may be fetched, as [web.NewClient]
// understands it. In a pattern * stands for any part of the name.
type Keys struct {
	Allow []string `yaml:"allow" schema:"host" doc:"Host patterns; private addresses are refused unless allowed here by name"`
	Deny  []string `yaml:"deny" schema:"host" doc:"Host patterns"`
}

// window is how many bytes of a text one call shows.
const window = 7 << 10

// fetcher is Keys that are ready to run.
type fetcher struct {
	client   *web.Client
	reader   document.Reader
	recent   bounded.Map[string, page] // by address
	deadline time.Duration
}

// Make makes the tool that reads a page or a file from the web. It refuses
// patterns that could match no host.
func (k Keys) Make(_ context.Context, h tools.Host) (tools.Made, error) {
	f, err := newFetcher(k, net.DefaultResolver)
	if err != nil {
		return tools.Made{}, fmt.Errorf("set up fetch: %w", err)
	}
	if h.Proxy != nil {
		f.client.Through(h.Proxy)
	}
	t := f.tool()
	t.Try = func(ctx context.Context) error { return k.try(ctx, h.Proxy, net.DefaultResolver) }
	return tools.One(t)
}

// try reaches the proxy, which resolves names itself; without one it looks up the hosts that
// are named in full. It fetches nothing.
func (k Keys) try(ctx context.Context, proxy *url.URL, resolver *net.Resolver) error {
	if proxy != nil {
		port := cmp.Or(proxy.Port(), map[string]string{"https": "443"}[proxy.Scheme], "80")
		conn, err := (&net.Dialer{Resolver: resolver}).DialContext(ctx, "tcp", net.JoinHostPort(proxy.Hostname(), port))
		if err != nil {
			return fmt.Errorf("the proxy can't be reached: %w; look at proxy", err)
		}
		return conn.Close()
	}
	var errs []error
	for _, host := range k.Allow {
		if strings.ContainsAny(host, "*/:") {
			continue
		}
		if _, err := resolver.LookupHost(ctx, host); err != nil {
			errs = append(errs, fmt.Errorf("find %s: %w; look at tools.fetch.allow", host, err))
		}
	}
	return errors.Join(errs...)
}

func newFetcher(k Keys, resolver *net.Resolver) (*fetcher, error) {
	c, err := web.NewClient(k.Allow, k.Deny, resolver)
	if err != nil {
		return nil, err
	}
	return &fetcher{
		client: c, reader: document.NewReader(),
		recent: bounded.Map[string, page]{Most: 8}, deadline: web.TimeMost,
	}, nil
}

func (f *fetcher) tool() tools.Tool {
	t := tools.New("fetch", prose, parameters, f.run)
	t.Aliases, t.ReadOnly, t.Outside, t.Address = []string{"browse", "open_url"}, true, true, "url"
	return t
}

// arguments are the model's arguments.
type arguments struct {
	URL    string
	Offset int
}

func (f *fetcher) run(ctx context.Context, in tools.Input, arg arguments) (llm.Result, error) {
	u, err := web.Parse(arg.URL)
	if err != nil {
		return tools.Failed("nothing was fetched: %v", err), nil
	}
	if arg.Offset > 0 {
		if doc, ok := f.recent.Get(u.String()); ok {
			return readOn(doc, arg.Offset), nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, f.deadline)
	defer cancel()
	got, err := f.client.Get(ctx, u)
	if err != nil {
		return tools.Failed("nothing was fetched: %v", err), nil
	}
	doc, broken := read(ctx, f.reader.For(in.Desk.Thread.String()), got)
	if broken != nil {
		return tools.Failed("the page was fetched, but not read: %v", broken), tools.OperatorsPart(broken)
	}
	kept := doc
	if kept.file != nil {
		kept.file = &llm.File{Name: kept.file.Name} // its content is the thread's by now
	}
	f.recent.Put(u.String(), kept)
	if arg.Offset > 0 {
		return readOn(doc, arg.Offset), nil
	}
	return firstPart(doc), nil
}

// page is a response in a form that a model reads.
type page struct {
	title string
	url   string
	kind  string // in words
	text  string
	note  string // missing parts
	name  string // of a file that holds the text
	file  *llm.File
}

// firstPart shows the beginning of a document. A text that does not fit goes
// along as a file.
func firstPart(doc page) llm.Result {
	r := part(doc, 0)
	if doc.file != nil {
		r.Files = append(r.Files, *doc.file)
	} else if len(doc.text) > window {
		r.Files = append(r.Files, llm.File{Name: doc.name, MediaType: "text/markdown; charset=utf-8", Data: []byte(doc.text)})
	}
	return r
}

// readOn shows the part of a document from an offset on.
func readOn(doc page, offset int) llm.Result {
	if offset >= len(doc.text) {
		return tools.Failed("there is nothing at offset %d; the text has %d bytes", offset, len(doc.text))
	}
	for !utf8.RuneStart(doc.text[offset]) {
		offset--
	}
	return part(doc, offset)
}

func part(doc page, offset int) llm.Result {
	var b strings.Builder
	if doc.title != "" {
		fmt.Fprintf(&b, "Title: %s\n", tools.OneLine(doc.title, 300))
	}
	fmt.Fprintf(&b, "Address: %s\nThis is %s.", tools.OneLine(doc.url, 600), doc.kind)
	if doc.note != "" {
		fmt.Fprintf(&b, " %s", doc.note)
	}
	end := len(doc.text)
	if end > offset+window {
		end = tools.CutBefore(doc.text, offset+window)
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

// fileName makes a name for a file out of an address.
func fileName(u *url.URL, extension string) string {
	base := path.Base(u.Path)
	if base == "." || base == "/" {
		base = u.Hostname()
	}
	if old := path.Ext(base); old != "" && old != base && u.Path != "" && path.Base(u.Path) == base {
		base = strings.TrimSuffix(base, old)
	}
	base = tools.PlainName(base)
	base = cmp.Or(base, "page")
	return base[:min(len(base), 60)] + extension
}
