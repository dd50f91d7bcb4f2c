package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// token is what must reach the server, and nobody else.
const token = "Bearer s3cr3t-t0ken"

// site is a server over HTTP that demands the token.
type site struct {
	*httptest.Server
	handler atomic.Pointer[http.Handler]
	mu      sync.Mutex
	seen    []string // the credentials of every request
}

func newSite(t *testing.T, stateless bool, build func() *sdk.Server) *site {
	t.Helper()
	s := &site{}
	s.restart(stateless, build)
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// restart makes it another process, which knows no session of the one before.
func (s *site) restart(stateless bool, build func() *sdk.Server) {
	one := build()
	s.set(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return one }, &sdk.StreamableHTTPOptions{Stateless: stateless}))
}

func (s *site) set(h http.Handler) { s.handler.Store(&h) }

// ServeHTTP implements http.Handler.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.seen = append(s.seen, r.Header.Get("Authorization"))
	s.mu.Unlock()
	if r.Header.Get("Authorization") != token {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	(*s.handler.Load()).ServeHTTP(w, r)
}

func (s *site) server(headers ...string) Server {
	cfg := Server{Name: "web", URL: s.URL + "/mcp?key=in-the-url", Headers: map[string]string{"Authorization": token}}
	for _, h := range headers {
		cfg.Headers["Authorization"] = h
	}
	return cfg
}

// hush demands that no secret is in the logs or in an error.
func (b *bench) hush() {
	b.t.Helper()
	for _, secret := range []string{"s3cr3t", "in-the-url"} {
		if strings.Contains(b.logs.String(), secret) {
			b.t.Errorf("%q is in the logs:\n%s", secret, b.logs)
		}
		for _, st := range b.ss.States() {
			if st.Err != nil && strings.Contains(st.Err.Error(), secret) {
				b.t.Errorf("%q is in an error: %v", secret, st.Err)
			}
		}
	}
}

func TestHTTP(t *testing.T) {
	for name, stateless := range map[string]bool{"sessions": false, "stateless": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			site := newSite(t, stateless, func() *sdk.Server { return build(dir) })
			b := connect(t, Options{Servers: []Server{site.server()}})
			b.says("web_echo", `{"text":"hello"}`, "you said hello", false)
			b.says("web_fails", `{}`, "the disk is full", true)
			b.says("web_key", `{}`, "key 1", false)
			b.says("web_huge", `{}`, "xxxx", false)
			// Another process: what was called is done once, what is new is told.
			site.restart(stateless, func() *sdk.Server { return build(dir) })
			b.says("web_echo", `{"text":"again"}`, "you said again", false)
			touch(dir, "swapped")
			site.restart(stateless, func() *sdk.Server { return build(dir) })
			b.ss.list[0].pace.relist = 1
			b.says("web_swap", `{"text":"x"}`, "switched off", true)
			if touched(dir, "swap.ran") {
				t.Error("the swapped tool ran")
			}
			b.hush()
		})
	}
}

// Large answers end with an error, whether they come whole or as events.
func TestHTTPHuge(t *testing.T) {
	for name, whole := range map[string]bool{"whole": true, "events": false} {
		t.Run(name, func(t *testing.T) {
			p := quick
			p.bytes = 200 << 10
			one := build(t.TempDir())
			site := newSite(t, false, func() *sdk.Server { return one })
			site.set(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return one }, &sdk.StreamableHTTPOptions{JSONResponse: whole}))
			b := connect(t, Options{Servers: []Server{site.server()}, pace: p})
			b.says("web_huge", `{}`, "there was an answer", true)
			b.says("web_echo", `{"text":"on"}`, "you said on", false)
		})
	}
}

// A refusal says what to look at, and nothing of the credentials.
func TestHTTPRefused(t *testing.T) {
	site := newSite(t, false, func() *sdk.Server { return build(t.TempDir()) })
	b := connect(t, Options{Servers: []Server{site.server("Bearer wrong-s3cr3t")}})
	st := b.ss.States()[0]
	if st.Err == nil || !strings.Contains(st.Err.Error(), "it refuses the credentials (status 401); look at headers") {
		t.Errorf("%v", st.Err)
	}
	b.hush()
}

// No answer sends the headers to somebody else, and a redirect is not followed.
func TestRedirect(t *testing.T) {
	thief := &site{}
	thief.set(http.NotFoundHandler())
	thief.Server = httptest.NewServer(thief)
	defer thief.Close()
	site := newSite(t, false, func() *sdk.Server { return build(t.TempDir()) })
	site.set(http.RedirectHandler(thief.URL+"/mcp", http.StatusTemporaryRedirect))
	b := connect(t, Options{Servers: []Server{site.server()}})
	st := b.ss.States()[0]
	if st.Err == nil || !strings.Contains(st.Err.Error(), "it redirects") {
		t.Errorf("%v", st.Err)
	}
	if len(thief.seen) > 0 {
		t.Errorf("the other host was asked %d times, with %q", len(thief.seen), thief.seen)
	}
	b.hush()
}

// Nobody listens: the program starts, and a call says that nothing was done.
func TestHTTPDown(t *testing.T) {
	dir := t.TempDir()
	site := newSite(t, true, func() *sdk.Server { return build(dir) })
	p := quick
	p.patient = 2 * time.Second
	b := connect(t, Options{Servers: []Server{site.server()}, pace: p})
	lock := b.ss.Accept()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	down := site.server()
	down.URL = "http://" + l.Addr().String() + "/mcp?key=in-the-url"
	c := connect(t, Options{Servers: []Server{down}, Lock: lock, pace: p})
	c.says("web_echo", `{"text":"x"}`, "was not run: the server web that does this is not available now (it can't be reached", true)
	c.hush()
	// And one that goes away while it is used.
	b.ss.list[0].web.next.CloseIdleConnections()
	site.CloseClientConnections()
	site.Close()
	b.says("web_echo", `{"text":"x"}`, "was not run: the server web that does this is not available now (it can't be reached", true)
	b.hush()
}

// An answer of a proxy in the way is told as it is, and no more.
func TestHTTPOdd(t *testing.T) {
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"page":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<html>log in, s3cr3t</html>") }, "is not the protocol"},
		"broken":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, "it answers with status 502"},
		"nothing": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, "is not the protocol"},
		"garbage": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, `{"jsonrpc":"2.0","id":"s3cr3t`)
		}, "the connection broke off"},
		"hangs": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // else it would not notice that the client leaves
			<-r.Context().Done()
		}, "did not answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			site := newSite(t, true, func() *sdk.Server { return build(t.TempDir()) })
			site.set(c.h)
			p := quick
			p.attempt = time.Second
			b := connect(t, Options{Servers: []Server{site.server()}, pace: p})
			st := b.ss.States()[0]
			if st.Err == nil || !strings.Contains(st.Err.Error(), c.want) {
				t.Errorf("%v", st.Err)
			}
			b.hush()
		})
	}
}

// A server may list its tools in pages, but not for ever.
func TestPages(t *testing.T) {
	many := func(n int) func() *sdk.Server {
		return func() *sdk.Server {
			s := sdk.NewServer(&sdk.Implementation{Name: "many", Version: "1"}, &sdk.ServerOptions{PageSize: 7})
			for i := range n {
				s.AddTool(&sdk.Tool{Name: fmt.Sprintf("t%04d", i), InputSchema: json.RawMessage(`{"type":"object"}`)},
					func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return says("x"), nil })
			}
			return s
		}
	}
	b := connect(t, Options{Servers: []Server{newSite(t, false, many(30)).server()}})
	if n := len(b.ss.Tools()); n != 30 {
		t.Errorf("%d tools", n)
	}
	b.says("web_t0029", `{}`, "x", false)
	c := connect(t, Options{Servers: []Server{newSite(t, false, many(800)).server()}})
	if st := c.ss.States()[0]; st.Err == nil || !strings.Contains(st.Err.Error(), "lists more than") || len(c.ss.Tools()) > 0 {
		t.Errorf("%v, %d tools", st.Err, len(c.ss.Tools()))
	}
}
