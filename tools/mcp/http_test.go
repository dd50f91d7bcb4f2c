package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/llm"
	"nod/setting"
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
	cfg := Server{Name: "web", URL: setting.NewSecret(s.URL + "/mcp?key=in-the-url"), Headers: map[string]setting.Secret{"Authorization": setting.NewSecret(token)}}
	for _, h := range headers {
		cfg.Headers["Authorization"] = setting.NewSecret(h)
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
			b.says("web_key", `{}`, keyOf("key 1"), false)
			b.says("web_huge", `{}`, "xxxx", false)
			// Another process: what was called is done once, what is new is told.
			site.restart(stateless, func() *sdk.Server { return build(dir) })
			b.says("web_echo", `{"text":"again"}`, "you said again", false)
			touch(dir, "swapped")
			site.restart(stateless, func() *sdk.Server { return build(dir) })
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

// front stands before a server, as a proxy does. It may answer a call of a tool
// itself, and counts what comes.
type front struct {
	mu     sync.Mutex
	next   http.Handler
	answer func(w http.ResponseWriter, tool string, nth int) bool // true: it did
	calls  map[string]int
	gets   int                  // of streams that a GET opens
	cuts   []context.CancelFunc // of the streams for notices
	resume int                  // the status with which it answers whoever wants a stream to go on
}

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var msg struct {
		Method string
		Params struct{ Name string }
	}
	_ = json.Unmarshal(body, &msg)
	f.mu.Lock()
	if r.Method == http.MethodGet {
		f.gets++
	} else if msg.Method == "subscriptions/listen" {
		ctx, cut := context.WithCancel(r.Context())
		r = r.WithContext(ctx)
		f.cuts = append(f.cuts, cut)
	}
	if f.resume > 0 && r.Method == http.MethodGet {
		f.mu.Unlock()
		w.WriteHeader(f.resume)
		return
	}
	if msg.Method != "tools/call" {
		f.mu.Unlock()
		f.next.ServeHTTP(w, r)
		return
	}
	f.calls[msg.Params.Name]++
	nth := f.calls[msg.Params.Name]
	f.mu.Unlock()
	if f.answer == nil || !f.answer(w, msg.Params.Name, nth) {
		f.next.ServeHTTP(w, r)
	}
}

func (f *front) count(tool string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[tool]
}

// before puts a front before a site.
func before(s *site, answer func(w http.ResponseWriter, tool string, nth int) bool) *front {
	f := &front{next: *s.handler.Load(), answer: answer, calls: map[string]int{}}
	s.set(f)
	return f
}

// A refused call was not done, whatever status the refusal has.
func TestHTTPRefusesACall(t *testing.T) {
	for status, posts := range map[int]int{400: 2, 402: 1, 404: 2, 405: 1, 409: 1, 413: 1, 422: 1} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			dir := t.TempDir()
			site := newSite(t, false, func() *sdk.Server { return build(dir) })
			f := before(site, func(w http.ResponseWriter, tool string, _ int) bool {
				if tool == "echo" {
					http.Error(w, "no", status)
				}
				return tool == "echo"
			})
			b := connect(t, Options{Servers: []Server{site.server()}})
			b.says("web_echo", `{"text":"x"}`, fmt.Sprintf("web_echo was not run: the server web that does this is not available now (%s)", statusReason(status)), true)
			if n := f.count("echo"); n != posts {
				t.Errorf("it was called %d times, want %d", n, posts)
			}
			b.says("web_key", `{}`, keyOf("key 1"), false)
			b.hush()
		})
	}
}

// A proxy's word that it took too long is none of the server's behind it, which may go on:
// older ones say so with 408.
func TestHTTPTimedOut(t *testing.T) {
	for _, status := range []int{http.StatusRequestTimeout, http.StatusGatewayTimeout} {
		site := newSite(t, false, func() *sdk.Server { return build(t.TempDir()) })
		f := before(site, func(w http.ResponseWriter, tool string, _ int) bool {
			if tool == "echo" {
				http.Error(w, "stream timeout", status)
			}
			return tool == "echo"
		})
		b := connect(t, Options{Servers: []Server{site.server()}})
		b.says("web_echo", `{"text":"x"}`, "Whether it was done is not known", true)
		if n := f.count("echo"); n != 1 {
			t.Errorf("%d: it was called %d times", status, n)
		}
	}
}

// Some servers say with 400 that they do not know a session, with a body in the
// form of the protocol that is about no request.
func TestHTTPLosesTheSession(t *testing.T) {
	for name, body := range map[string]string{
		"an error about nothing":  `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`,
		"an error about a string": `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request"}}`,
		"words":                   "Invalid session ID",
	} {
		for _, status := range []int{400, 404} {
			t.Run(fmt.Sprint(name, " ", status), func(t *testing.T) {
				site := newSite(t, false, func() *sdk.Server { return build(t.TempDir()) })
				f := before(site, func(w http.ResponseWriter, tool string, nth int) bool {
					if nth > 1 {
						return false
					}
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(status)
					_, _ = io.WriteString(w, body)
					return true
				})
				b := connect(t, Options{Servers: []Server{site.server()}})
				b.says("web_echo", `{"text":"x"}`, "you said x", false)
				if n := f.count("echo"); n != 2 {
					t.Errorf("it was called %d times", n)
				}
			})
		}
	}
}

// A session that is lost ends the calls that run in it. Nobody knows what became
// of them, and they are not made again.
func TestHTTPLosesTheSessionOfOthers(t *testing.T) {
	dir := t.TempDir()
	site := newSite(t, false, func() *sdk.Server { return build(dir) })
	f := before(site, func(w http.ResponseWriter, tool string, nth int) bool {
		switch {
		case tool == "echo" && nth == 1:
			w.WriteHeader(http.StatusBadRequest)
		case tool == "slow" && nth > 1:
			w.WriteHeader(http.StatusTeapot)
		default:
			return false
		}
		return true
	})
	b := connect(t, Options{Servers: []Server{site.server()}})
	done := make(chan llm.Result, 1)
	go func() {
		r, _ := b.call("web_slow", `{}`)
		done <- r
	}()
	eventually(t, "a call runs", func() bool { return touched(dir, "slow.begun") })
	b.says("web_echo", `{"text":"x"}`, "you said x", false)
	site.CloseClientConnections() // the SDK looks at its session when the request is over
	if r := <-done; !r.Failed || !strings.Contains(r.Text, "Whether it was done is not known") {
		t.Errorf("%q", r.Text)
	}
	if n := f.count("slow"); n != 1 {
		t.Errorf("the call that ran was made %d times", n)
	}
}

// A call that a server had begun to answer when it ended is not made again, although
// the next one knows nothing of the stream that the answer is to go on with.
func TestHTTPLosesTheStream(t *testing.T) {
	for _, status := range []int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusConflict} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			site := newSite(t, false, func() *sdk.Server { return build(t.TempDir()) })
			f := before(site, func(w http.ResponseWriter, tool string, nth int) bool {
				if tool != "echo" || nth > 1 {
					return false
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "id: 1\nretry: 1\ndata: \n\n") // by then it runs
				return true
			})
			f.resume = status
			b := connect(t, Options{Servers: []Server{site.server()}})
			b.says("web_echo", `{"text":"x"}`, "Whether it was done is not known", true)
			if n := f.count("echo"); n != 1 {
				t.Errorf("it was called %d times", n)
			}
			b.says("web_key", `{}`, keyOf("key 1"), false)
		})
	}
}

// No stream stays open beside the calls that ends the session when a proxy cuts it as idle:
// only the newest version has one, for notices.
func TestHTTPHoldsNoStream(t *testing.T) {
	for name, stateless := range map[string]bool{"sessions": false, "stateless": true} {
		t.Run(name, func(t *testing.T) {
			site := newSite(t, stateless, func() *sdk.Server { return build(t.TempDir()) })
			f := before(site, nil)
			b := connect(t, Options{Servers: []Server{site.server()}})
			b.says("web_echo", `{"text":"x"}`, "you said x", false)
			b.says("web_change", `{}`, "changed", false)
			b.says("web_swap", `{"text":"x"}`, "switched off", true)
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, cut := range f.cuts {
				cut()
			}
			f.mu.Unlock()
			b.says("web_echo", `{"text":"y"}`, "you said y", false)
			f.mu.Lock()
			if f.gets > 0 || stateless != (len(f.cuts) == 1) || strings.Contains(b.logs.String(), "is not connected") {
				t.Errorf("%d streams were opened, %d for notices", f.gets, len(f.cuts))
			}
		})
	}
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
	b := connect(t, Options{Servers: []Server{site.server()}})
	lock := b.ss.Accept()
	down := site.server()
	down.URL = setting.NewSecret("http://127.0.0.1:1/mcp?key=in-the-url")
	c := connect(t, Options{Servers: []Server{down}, Lock: lock})
	c.says("web_echo", `{"text":"x"}`, "was not run: the server web that does this is not available now (it can't be reached", true)
	c.hush()
	// And one that goes away while it is used.
	b.ss.list[0].web.next.CloseIdleConnections()
	site.CloseClientConnections()
	site.Close()
	b.says("web_echo", `{"text":"x"}`, "was not run: the server web that does this is not available now (it can't be reached", true)
	b.hush()
}

// A plain server under the address of a secure one.
func TestHTTPScheme(t *testing.T) {
	site := newSite(t, true, func() *sdk.Server { return build(t.TempDir()) })
	s := site.server()
	s.URL = setting.NewSecret(strings.Replace(s.URL.Reveal(), "http:", "https:", 1))
	b := connect(t, Options{Servers: []Server{s}})
	if st := b.ss.States()[0]; st.Err == nil || !strings.Contains(st.Err.Error(), "it speaks http there, not https") {
		t.Errorf("%v", st.Err)
	}
}

// An answer of a proxy in the way is told as it is, and no more.
func TestHTTPOdd(t *testing.T) {
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"page":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<html>log in, s3cr3t</html>") }, "is not the protocol, but text/html; look at url"},
		"broken":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, "it answers with status 502"},
		"nothing": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, "there is nothing at its address"},
		"older":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) }, "does not take the requests of this protocol (status 405)"},
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
			if name == "hangs" {
				p.attempt = time.Millisecond // it never answers
			}
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

// A listing holds for as long as the server says, and is no question before each call.
func TestListingHolds(t *testing.T) {
	for ttl, want := range map[int]int{0: 3, 3_600_000: 1} {
		dir, lists := t.TempDir(), atomic.Int32{}
		site := newSite(t, true, func() *sdk.Server {
			o := sdk.ServerOptions{SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.TTLMs = ttl }}
			s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, &o)
			s.AddTool(&sdk.Tool{Name: "touch", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return says("touched " + dir), nil
			})
			s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
				return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
					if method == "tools/list" {
						lists.Add(1)
					}
					return next(ctx, method, req)
				}
			})
			return s
		})
		b := connect(t, Options{Servers: []Server{site.server()}})
		b.says("web_touch", `{}`, "touched", false)
		b.says("web_touch", `{}`, "touched", false)
		if got := int(lists.Load()); got != want {
			t.Errorf("ttlMs %d: %d listings, and not %d", ttl, got, want)
		}
	}
}

// A server's notice that its list changed is taken at once, although the listing would hold
// for an hour more.
func TestHTTPListChanged(t *testing.T) {
	t.Parallel()
	o := sdk.ServerOptions{SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.TTLMs = 3_600_000 }}
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, &o)
	add := func(about string) {
		s.AddTool(&sdk.Tool{Name: "touch", Description: about, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return says("touched"), nil
		})
	}
	add("Touches.")
	b := connect(t, Options{Servers: []Server{newSite(t, true, func() *sdk.Server { return s }).server()}})
	b.says("web_touch", `{}`, "touched", false)
	add("Deletes everything.")
	eventually(t, "the tool is off", func() bool {
		r, _ := b.call("web_touch", `{}`)
		return strings.Contains(r.Text, "its server has changed its description")
	})
}
