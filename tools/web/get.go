package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"syscall"
	"time"

	"nod/tools"
)

const (
	// SizeMost is the most bytes of a response that are read.
	SizeMost = 10 << 20
	// TimeMost is the most that a whole fetch should take, redirects included.
	TimeMost = 40 * time.Second
	// redirectsMost is how often an address may lead to another one.
	redirectsMost = 5
)

// userAgent is how the tools introduce themselves to servers.
const userAgent = "nod/1 (agent for team chat; fetches on behalf of a person)"

// Response is a server's response.
type Response struct {
	URL         *url.URL // where the redirects ended
	ContentType string   // as the server names it
	Body        []byte
	Cut         bool // there was more
}

// Client opens addresses that anybody may have written.
type Client struct {
	hosts *hosts
	http  *http.Client
}

// NewClient makes a client that opens only what the rules let through: patterns
// are names, in which * stands for any part, IP addresses, or ranges such as
// 10.0.0.0/8. With an empty allow, every public host may be opened; with patterns
// in it, only those that match one. Private addresses are opened only where a
// pattern names the host: it has no *, or ends in two parts without one
// (*.corp.example), or is the beginning of an address (192.168.1.*).
func NewClient(allow, deny []string, resolver *net.Resolver) (*Client, error) {
	h, err := newHosts(allow, deny)
	if err != nil {
		return nil, err
	}
	return &Client{hosts: h, http: newHTTP(h, resolver)}, nil
}

// Through has everything fetched through a proxy, which resolves names itself. So only
// what stands in an address can be judged: a name has to be one that a pattern of allow
// names, as for a private address.
func (c *Client) Through(proxy *url.URL) {
	if t, ok := c.http.Transport.(*http.Transport); ok {
		t.Proxy, t.DialContext = http.ProxyURL(proxy), nil
		c.hosts.blind = true
	}
}

// newHTTP makes the transport. There is no proxy: behind one, the address that is
// dialled would be the proxy's. Nothing is kept from one request to the next,
// neither connections nor cookies.
func newHTTP(h *hosts, resolver *net.Resolver) *http.Client {
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
			if len(via) > redirectsMost {
				return tools.Refuse("the address redirects more than %d times", redirectsMost)
			}
			req.Header.Del("Referer") // it may hold data for the first server only
			return h.url(req.URL)
		},
	}
}

// Get opens a URL. Whatever goes wrong is in words for the model: an address
// that does not answer is nothing that an operator has to know of.
func (c *Client) Get(ctx context.Context, u *url.URL) (Response, error) {
	if err := c.hosts.url(u); err != nil {
		return Response{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Response{}, tools.Refuse("this is no address that can be fetched")
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "text/html,application/xhtml+xml,text/plain,text/markdown,application/json,application/pdf,image/*;q=0.8,*/*;q=0.5")
	resp, err := c.http.Do(req)
	if err != nil {
		return Response{}, netError(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := statusError(resp); err != nil {
		return Response{}, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, SizeMost+1))
	if err != nil {
		return Response{}, netError(ctx, err)
	}
	r := Response{URL: resp.Request.URL, ContentType: resp.Header.Get("Content-Type"), Body: body}
	if len(body) > SizeMost {
		r.Body, r.Cut = body[:SizeMost], true
	}
	return r, nil
}

// netError names a network error, without the system's noise.
func netError(ctx context.Context, err error) error {
	var refused *tools.Refusal
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(context.Cause(ctx), context.Canceled):
		return tools.Refuse("the call was stopped")
	case errors.As(err, &dns) && dns.IsNotFound:
		return tools.Refuse("there is no host of that name; check the address. Where this server has no way to the web but a proxy, whoever runs me has to set `proxy`")
	case errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded):
		return tools.Refuse("the server did not answer in time; try again later, or another address")
	case errors.Is(err, syscall.ECONNREFUSED):
		return tools.Refuse("the server refuses connections; check the address and the port")
	case strings.Contains(err.Error(), "tls: ") || strings.Contains(err.Error(), "x509: "):
		return tools.Refuse("no secure connection could be made; the server's certificate or its TLS is not in order")
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return tools.Refuse("the server speaks http there, not https")
	}
	return tools.Refuse("the connection broke, or what came is not HTTP")
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
		return tools.Refuse("the server answers %s: it does not show this page to everybody, and this tool cannot log in", status)
	case code == http.StatusNotFound || code == http.StatusGone:
		return tools.Refuse("the server answers %s: there is no such page; check the address, or look for another one", status)
	case code == http.StatusTooManyRequests:
		return tools.Refuse("the server answers %s; leave it alone for a while", status)
	case code >= 500:
		return tools.Refuse("the server answers %s: it has trouble of its own; try later, or another address", status)
	}
	return tools.Refuse("the server answers %s", status)
}

// Parse reads an address as people write it.
func Parse(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "://") && !bareScheme.MatchString(text) {
		text = "https://" + strings.TrimPrefix(text, "//")
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" && (u.Scheme == "http" || u.Scheme == "https") {
		return nil, tools.Refuse("this is no address; write one such as https://example.com/page")
	}
	u.Fragment = ""
	u.Scheme = strings.ToLower(u.Scheme)
	return u, nil
}

// bareScheme knows addresses without //, which are not hosts with a port.
var bareScheme = regexp.MustCompile(`^(?i:data|javascript|mailto|file|about|blob|tel):`)
