package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

const (
	// fetchMost is the most bytes of a response that are read.
	fetchMost = 10 << 20
	// fetchRedirects is how often an address may lead to another one.
	fetchRedirects = 5
)

// userAgent is how the tools introduce themselves to servers.
const userAgent = "nod/1 (agent for team chat; fetches on behalf of a person)"

// response is what a server sent.
type response struct {
	url         *url.URL // where the redirects ended
	contentType string   // as the server names it
	body        []byte
	cut         bool // there was more
}

// newFetchClient makes a client that opens only what the rules let through.
// There is no proxy: behind one, the address that is dialled would be the
// proxy's. Nothing is kept from one request to the next, neither connections
// nor cookies.
func newFetchClient(h *hosts, resolver *net.Resolver) *http.Client {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		d := net.Dialer{Timeout: 10 * time.Second, Resolver: resolver}
		d.Control = func(_, resolved string, _ syscall.RawConn) error { return h.dial(host, resolved) }
		return d.DialContext(ctx, network, address)
	}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil,
			DialContext:            dial,
			DisableKeepAlives:      true,
			TLSHandshakeTimeout:    10 * time.Second,
			ResponseHeaderTimeout:  20 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
			ForceAttemptHTTP2:      true,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > fetchRedirects {
				return refuse("the address redirects more than %d times", fetchRedirects)
			}
			req.Header.Del("Referer") // may hold what was meant for the first server only
			return h.url(req.URL)
		},
	}
}

// get opens a URL. Whatever goes wrong is in words for the model: an address
// that does not answer is nothing that an operator has to know of.
func (f *fetcher) get(ctx context.Context, u *url.URL) (response, error) {
	if err := f.hosts.url(u); err != nil {
		return response{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return response{}, refuse("this is no address that can be fetched")
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "text/html,application/xhtml+xml,text/plain,text/markdown,application/json,application/pdf,image/*;q=0.8,*/*;q=0.5")
	resp, err := f.client.Do(req)
	if err != nil {
		return response{}, netError(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := statusError(resp); err != nil {
		return response{}, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, fetchMost+1))
	if err != nil {
		return response{}, netError(ctx, err)
	}
	r := response{url: resp.Request.URL, contentType: resp.Header.Get("Content-Type"), body: body}
	if len(body) > fetchMost {
		r.body, r.cut = body[:fetchMost], true
	}
	return r, nil
}

// netError says what went wrong on the way, without the system's noise.
func netError(ctx context.Context, err error) error {
	var refused *refusal
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(context.Cause(ctx), context.Canceled):
		return refuse("the call was stopped")
	case errors.As(err, &dns) && dns.IsNotFound:
		return refuse("there is no host of that name; check the address")
	case errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded):
		return refuse("the server did not answer in time; try again later, or another address")
	case errors.Is(err, syscall.ECONNREFUSED):
		return refuse("the server refuses connections; check the address and the port")
	case strings.Contains(err.Error(), "tls: ") || strings.Contains(err.Error(), "x509: "):
		return refuse("no secure connection could be made; the server's certificate or its TLS is not in order")
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return refuse("the server speaks http there, not https")
	}
	return refuse("the connection broke, or what came is not HTTP")
}

// statusError explains a status that is no success.
func statusError(resp *http.Response) error {
	code := resp.StatusCode
	if code >= 200 && code < 300 {
		return nil
	}
	status := strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
	switch {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return refuse("the server answers %s: it does not show this page to everybody, and this tool cannot log in", status)
	case code == http.StatusNotFound || code == http.StatusGone:
		return refuse("the server answers %s: there is no such page; check the address, or look for another one", status)
	case code == http.StatusTooManyRequests:
		return refuse("the server answers %s; leave it alone for a while", status)
	case code >= 500:
		return refuse("the server answers %s: it has trouble of its own; try later, or another address", status)
	}
	return refuse("the server answers %s", status)
}
