package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/setting"
	"nod/tools/mcp/wire"
)

// web is the way to a server over HTTP. It is the only place that knows the
// configured headers, and they go to the configured origin only: no answer of a
// server can send them elsewhere.
type web struct {
	endpoint string
	origin   string
	headers  map[string]setting.Secret
	most     int64 // bytes of an answer
	next     *http.Transport
	fault    *fault
}

func newWeb(cfg Server, most int, f *fault) (*web, error) {
	u, err := url.Parse(cfg.URL.Reveal())
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("its URL must begin with http:// or https:// and name a host")
	}
	next, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		next = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	return &web{endpoint: cfg.URL.Reveal(), origin: origin(u), headers: cfg.Headers, most: int64(most), next: next.Clone(), fault: f}, nil
}

func origin(u *url.URL) string { return u.Scheme + "://" + strings.ToLower(u.Host) }

var errElsewhere = refused("it redirects, and that is not followed, as the headers could get into other hands; write the address that it redirects to")

// transport has no open stream for the server's messages in older versions. A proxy cuts
// an idle stream, and after some cuts the SDK takes the whole session for lost, with the
// running calls. The tools are listed before each call there anyhow. In 2026-07-28 a stream
// of its own tells of changes, and after a cut the listing holds for as long as it says.
func (w *web) transport(most int) sdk.Transport {
	return &sdk.StreamableClientTransport{Endpoint: w.endpoint, HTTPClient: w.client(), MaxEventSize: most, DisableStandaloneSSE: true}
}

// client follows redirects within the origin that leave the request unchanged.
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
	asked := requestOf(req)
	call := asked.call(req.Context())
	if origin(req.URL) != w.origin {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		call.refused.Store(errElsewhere)
		return nil, w.fault.note(errElsewhere)
	}
	req = req.Clone(req.Context())
	if asked.Params.TaskID != "" { // so that it comes to the process that has the task
		req.Header.Set("Mcp-Name", asked.Params.TaskID)
	}
	for name, secret := range w.headers {
		value := secret.Reveal()
		if strings.EqualFold(name, "Host") {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	call.sent.Store(true)
	resp, err := w.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return w.refusal(req, resp, asked)
	}
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode == http.StatusOK && !strings.HasPrefix(kind, "application/json") && !strings.HasPrefix(kind, "text/event-stream") {
		_ = w.fault.note(notTheProtocol(kind)) // for the case that it matters: some answer a notification so
	}
	// A stream of events has no end; each event is bounded.
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = newEvents(resp.Body, int(w.most), w.fault, runningOf(req.Context()))
		return resp, nil
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, w.most)
	return w.tidied(resp)
}

// tidied is an answer whose message the SDK can read.
func (w *web) tidied(resp *http.Response) (*http.Response, error) {
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		return resp, nil
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, w.fault.note(tooLong(int(w.most)))
	case err != nil:
		return nil, err
	}
	body = wire.Tidy(body)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

// mostRefusal is how much is read of an answer that is no success.
const mostRefusal = 1 << 20

// refusal makes what the SDK understands of an answer that is no success. What a
// server refuses (4xx) it has not done, and is told so, unless it is a word about
// the very request in the terms of the protocol. It may have lost the session,
// which it should say with 404, and many say with 400: then the call begins anew in
// a new one.
func (w *web) refusal(req *http.Request, resp *http.Response, asked request) (*http.Response, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostRefusal))
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if err == nil && asked.answeredBy(body) {
		return resp, nil
	}
	status := resp.StatusCode
	reason := statusReason(status)
	_ = w.fault.note(reason)
	asked.call(req.Context()).refused.Store(reason)
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusTooManyRequests, status >= http.StatusInternalServerError:
		return nil, reason
	case req.Header.Get("Mcp-Session-Id") != "" && (status == http.StatusBadRequest || status == http.StatusNotFound):
		resp.StatusCode, resp.Status, resp.Body = http.StatusNotFound, "404 Not Found", http.NoBody
	case strings.HasPrefix(asked.Method, "tools/"):
		return nil, reason
	}
	return resp, nil // a step of the handshake, of which there are an older and a newer form
}

// statusReason is the meaning of a status.
func statusReason(status int) *trouble {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return refused("it refuses the credentials (status %d); look at headers", status)
	case status == http.StatusNotFound:
		return refused("there is nothing at its address, or its session is over (status 404); look at url")
	case status == http.StatusMethodNotAllowed:
		return refused("its address does not take the requests of this protocol (status 405), as that of an older server (HTTP with SSE) does not; look at url")
	case status == http.StatusTooManyRequests:
		return refused("it has had too many requests (status 429)")
	case status >= http.StatusInternalServerError, status == http.StatusRequestTimeout: // this one is said by proxies of servers that go on
		return ours("it answers with status %d", status)
	}
	return refused("it refuses the request (status %d)", status)
}

// notTheProtocol names the received content, if it is a plain word.
func notTheProtocol(contentType string) error {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil || len(kind) > 60 {
		return errProtocol
	}
	return ours("what it answers is not the protocol, but %s; look at url", kind)
}

// request describes a sent message.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		TaskID string `json:"taskId"`
	} `json:"params"`
}

func requestOf(req *http.Request) (asked request) {
	if req.GetBody == nil {
		return asked
	}
	body, err := req.GetBody()
	if err != nil {
		return asked
	}
	defer func() { _ = body.Close() }()
	if err := json.NewDecoder(body).Decode(&asked); err != nil {
		return request{}
	}
	return asked
}

// call is the call that the request itself makes, or one that nobody asks.
// Other requests serve a call too: they continue the stream of its answer, or report
// that it was given up. Their outcome says nothing about the call.
func (r request) call(ctx context.Context) *running {
	if call := runningOf(ctx); call != nil && r.Method == "tools/call" {
		return call
	}
	return &running{}
}

// answeredBy says whether a body is the protocol's answer to the request.
func (r request) answeredBy(body []byte) bool {
	var answer request
	return r.ID != nil && json.Unmarshal(body, &answer) == nil && answer.Method == "" && bytes.Equal(r.ID, answer.ID)
}

// trouble is an error in our own words: it holds neither an address nor
// anything that a server wrote.
type trouble struct {
	words  string
	undone bool // nothing was done for sure
}

// Error implements error.
func (t *trouble) Error() string { return t.words }

func ours(format string, a ...any) *trouble { return &trouble{words: fmt.Sprintf(format, a...)} }

// refused is such an error of a server that did nothing.
func refused(format string, a ...any) *trouble {
	return &trouble{words: fmt.Sprintf(format, a...), undone: true}
}

func tooLong(most int) error {
	size := fmt.Sprintf("%d MiB", most>>20)
	if most < 1<<20 {
		size = fmt.Sprintf("%d bytes", most)
	}
	return ours("it sent more than %s at once", size)
}
