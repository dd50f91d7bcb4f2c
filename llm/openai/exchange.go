package openai

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"nod/llm"
)

const (
	errorCap = 1 << 20                // bytes of an error's body
	drainFor = 100 * time.Millisecond // for the end of a stream that has said [DONE]
	tailFor  = 2 * time.Second        // for the usage behind a complete answer
)

// exchange is one request and its response, as go-openai's HTTP client. It keeps the
// parts that go-openai drops: the body of an answer, with unknown fields, and of a
// refusal, with its headers.
type exchange struct {
	http   *http.Client
	query  string // of the endpoint's address, such as api-version=…
	now    func() time.Time
	api    *openai.Client
	stream bool
	sends  []byte // the body of the request, in place of go-openai's
	most   int64  // bytes of an answer that comes in one, or of an event
	cancel context.CancelFunc
	tail   *time.Timer // see lingers

	where  string // the address without the query
	status int
	header http.Header
	body   []byte // of all but streams
	cut    bool   // it was longer
	events *events
}

// Do implements openai.HTTPDoer.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	if x.sends != nil {
		req.ContentLength = int64(len(x.sends))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(x.sends)), nil }
		req.Body, _ = req.GetBody()
	}
	x.where = req.URL.String()
	req.URL.RawQuery = x.query
	resp, err := x.http.Do(req)
	if err != nil {
		_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
		return nil, &failure{cause: err, public: llm.Error{Fault: llm.Unreachable, Message: reason(err)}, early: !untrusted}
	}
	x.status, x.header = resp.StatusCode, resp.Header
	if x.stream && resp.StatusCode < 300 {
		x.events = newEvents(resp.Body, x.most)
		resp.Body = x.events
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	most := x.most
	if resp.StatusCode >= 300 {
		most = errorCap
	}
	x.body, x.cut, err = readUpTo(resp.Body, most)
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(x.body))
	return resp, nil
}

// event gives the data of the stream's next event. An answer that is none, such as a
// redirect, which go-openai does not take for a refusal, has no events.
func (x *exchange) event() ([]byte, error) {
	if x.events == nil {
		return nil, io.EOF
	}
	return x.events.event()
}

// ended says that the stream has announced its end.
func (x *exchange) ended() bool { return x.events != nil && x.events.done }

// drain reads the stream's last bytes, so that the connection can serve the
// next call; a server that keeps it open is not waited for.
func (x *exchange) drain() {
	if x.events == nil {
		return
	}
	if x.tail != nil {
		x.tail.Stop()
	}
	if x.events.done {
		stop := time.AfterFunc(drainFor, x.cancel)
		defer stop.Stop()
		_, _ = io.CopyN(io.Discard, x.events.lines, 64<<10)
	}
	_ = x.events.Close()
}

// lingers ends a stream of which the answer is whole when nothing comes of it for
// a while: some servers keep it open. The answer counts all the same.
func (x *exchange) lingers() {
	if x.tail == nil {
		x.tail = time.AfterFunc(tailFor, x.cancel)
		return
	}
	x.tail.Reset(tailFor)
}

// explain tells an error of the provider's from one of the way there.
func (x *exchange) explain(err error) error {
	if x.status < 300 {
		return err
	}
	said, ok := parseError(x.body)
	if !ok {
		said.Message = page(x.body)
		if said.Message == "" {
			said.Message = string(bytes.TrimSpace(x.body[:min(len(x.body), 4<<10)]))
		}
	}
	f := refusal(x.status, said)
	if x.status == http.StatusNotFound {
		f.public.Where = x.where
	}
	if f.public.Fault == llm.Overloaded || f.public.Fault == llm.Unreachable {
		f.public.RetryAfter = retryAfter(x.header, x.now())
	}
	f.early = early(f.public)
	return f
}

// page gives the title of a page of HTML, and nothing of any other text.
func page(body []byte) string {
	s := strings.TrimSpace(string(body[:min(len(body), 4<<10)]))
	if !strings.HasPrefix(s, "<") {
		return ""
	}
	if m := title.FindStringSubmatch(s); m != nil {
		return "an HTML page: " + m[1]
	}
	return "an HTML page"
}

// unreadable is an answer that is no JSON. It may be the beginning of one, so
// nothing but the title of an error page is repeated.
func unreadable(body []byte) *failure {
	if p := page(body); p != "" {
		return malformed(p)
	}
	return malformed("an answer that is no JSON")
}
