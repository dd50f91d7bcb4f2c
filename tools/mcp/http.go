package mcp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// web is the way to a server over HTTP. It is the only place that knows the
// configured headers, and they go to the configured origin only: no answer of a
// server can send them elsewhere.
type web struct {
	endpoint string
	origin   string
	headers  map[string]string
	most     int64 // bytes of an answer
	next     *http.Transport
	fault    *fault
}

func newWeb(cfg Server, most int, f *fault) (*web, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("its URL must begin with http:// or https:// and name a host")
	}
	next, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		next = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	return &web{endpoint: cfg.URL, origin: origin(u), headers: cfg.Headers, most: int64(most), next: next.Clone(), fault: f}, nil
}

func origin(u *url.URL) string { return u.Scheme + "://" + strings.ToLower(u.Host) }

var errElsewhere = refused("it redirects, and that is not followed, as the headers could get into other hands; write the address that it redirects to")

// client follows redirects within the origin, as long as they leave the request
// what it is.
func (w *web) client() *http.Client {
	return &http.Client{Transport: w, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if origin(req.URL) != w.origin || req.Method != via[0].Method || len(via) > 5 {
			return w.fault.note(errElsewhere)
		}
		return nil
	}}
}

// RoundTrip implements http.RoundTripper: it adds the headers, and makes errors
// of those answers that the SDK would only know by their phrase.
func (w *web) RoundTrip(req *http.Request) (*http.Response, error) {
	if origin(req.URL) != w.origin {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, w.fault.note(errElsewhere)
	}
	req = req.Clone(req.Context())
	for name, value := range w.headers {
		if strings.EqualFold(name, "Host") {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	resp, err := w.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if err := refusal(resp.StatusCode); err != nil {
		_ = resp.Body.Close()
		return nil, w.fault.note(err)
	}
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode == http.StatusOK && !strings.HasPrefix(kind, "application/json") && !strings.HasPrefix(kind, "text/event-stream") {
		_ = w.fault.note(errProtocol) // for the case that it matters: some answer a notification so
	}
	// A stream of events has no end, and the SDK bounds each event.
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &bounded{ReadCloser: resp.Body, left: w.most, most: w.most, fault: w.fault}
	}
	return resp, nil
}

// refusal is the error that a status stands for. Of the others 404 and 405 mean
// something to the protocol, and 400 may hold an answer.
func refusal(status int) error {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return refused("it refuses the credentials (status %d); look at headers", status)
	case status == http.StatusTooManyRequests:
		return refused("it has had too many requests (status 429)")
	case status >= http.StatusInternalServerError:
		return ours("it answers with status %d", status)
	}
	return nil
}

// bounded is a body that fails when it is too long.
type bounded struct {
	io.ReadCloser
	left, most int64
	fault      *fault
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, b.fault.note(tooLong(int(b.most)))
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// trouble is an error in our own words: it holds neither an address nor
// anything that a server wrote.
type trouble struct {
	words  string
	undone bool // nothing was done for sure
}

// Error implements error.
func (t *trouble) Error() string { return t.words }

func ours(format string, a ...any) error { return &trouble{words: fmt.Sprintf(format, a...)} }

// refused is such an error of a server that did nothing.
func refused(format string, a ...any) error {
	return &trouble{words: fmt.Sprintf(format, a...), undone: true}
}

func tooLong(most int) error {
	size := fmt.Sprintf("%d MiB", most>>20)
	if most < 1<<20 {
		size = fmt.Sprintf("%d bytes", most)
	}
	return ours("it sent more than %s at once", size)
}
