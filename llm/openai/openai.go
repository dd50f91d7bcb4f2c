// Package openai calls models that speak OpenAI's Chat Completions, or its
// Responses if a model insists on them, at any provider.
//
// Providers differ in the protocol. So responses are read leniently in one place
// (chunk.go, calls.go). A refused field is learnt and left out from then on
// (limits.go). Each failure becomes one of the few words of [llm.Fault] (fault.go).
// The package bounds the part of a completion that it reads and keeps (bounds.go).
// github.com/sashabaranov/go-openai makes the requests; the reader of streams is our
// own (sse.go).
//
// https://platform.openai.com/docs/api-reference/chat
package openai

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"nod/llm"
	"nod/setting"
)

// Options say which model to call, and how. Only Model is needed.
type Options struct {
	BaseURL     string         // empty: OpenAI's
	APIKey      setting.Secret // not set: no Authorization header is sent
	Model       string
	Stream      bool
	Spared      bool              // another model answers when this one is away: two tries within 10 s
	Timeout     time.Duration     // of one call, its retries included; 0: only the context bounds it
	Temperature *float32          // nil: not sent
	TopP        *float32          // nil: not sent
	MaxOutput   int               // bytes of one completion, its reasoning included; the rest is cut off. 0: 256 KiB
	HTTP        http.RoundTripper // nil: a transport of its own
	Logger      *slog.Logger      // nil: none. It hears of retries and limits, never of texts

	// For tests; nil means the real thing.
	Now    func() time.Time
	Sleep  func(context.Context, time.Duration) error
	Jitter func() float64 // in [0, 1)
	NewID  func() string  // for calls to which the provider gave no id of their own
}

// Model is one model at one provider. It is safe for concurrent use, and remembers
// refusals for its life.
type Model struct {
	o Options

	mu      sync.Mutex
	known   limits
	doubts  limits          // of refusals that may have been about one call
	refused map[string]bool // pictures
	shelf   shelf
}

var _ llm.Model = (*Model)(nil)

// New returns a Model. It makes no request.
func New(o Options) *Model {
	if o.HTTP == nil {
		o.HTTP = http.DefaultTransport
		if t, ok := o.HTTP.(*http.Transport); ok {
			t = t.Clone()
			t.MaxIdleConnsPerHost = t.MaxIdleConns // many threads talk to this one host
			o.HTTP = t
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxOutput <= 0 {
		o.MaxOutput = defaultOutput
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	if o.Jitter == nil {
		o.Jitter = mathrand.Float64
	}
	if o.NewID == nil {
		o.NewID = func() string { return rand.Text()[:9] } // Mistral takes ids of just this form
	}
	return &Model{o: o, refused: map[string]bool{}, shelf: shelf{refused: map[[sha256.Size]byte]bool{}}}
}

// client makes the requests. It follows no redirection: that would take the conversation
// along, to wherever the answer says.
func (o Options) client() *http.Client {
	return &http.Client{Transport: o.HTTP, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Complete implements [llm.Model]. The error is an [*llm.Error], unless ctx
// was cancelled by the caller.
func (m *Model) Complete(ctx context.Context, req llm.Request, watch func(llm.Delta)) (resp llm.Response, err error) {
	defer func() {
		if r := recover(); r != nil { // a bad response must cost one answer at most
			m.o.Logger.ErrorContext(ctx, "panic in a model call", "panic", clean(fmt.Sprint(r), m.o.APIKey.Reveal()), "stack", string(debug.Stack()))
			resp, err = llm.Response{}, &llm.Error{Fault: llm.Malformed, Message: "the answer could not be read"}
		}
	}()
	parent := ctx
	if m.o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, m.o.Timeout)
		defer cancel()
	}
	out := &sink{watch: watch, began: m.o.Now()}
	spare := spared{pictures: map[string]bool{}}
	for asked, broke := 0, 0; ; {
		sending := request{req, m.limits() | spare.lim}
		sending.Messages = m.shown(req.Messages, spare)
		sending.Tools = m.offered(req.Tools)
		if req.NoCalls && sending.lim.has(heedless) && !sending.lim.has(needsTools) {
			sending.Tools = nil
		}
		resp, err := m.attempt(ctx, sending, out)
		if err == nil {
			if req.NoCalls && len(resp.Calls) > 0 && len(sending.Tools) > 0 {
				m.note(heedless)
			}
			m.worked(sending, spare)
			return resp, nil
		}
		f := m.failure(ctx, err)
		switch {
		case errors.Is(parent.Err(), context.Canceled):
			return llm.Response{}, fmt.Errorf("call model: %w", parent.Err())
		case f.early && m.waits(ctx, f, &asked, retries, out):
			continue
		case m.learn(f, sending, &spare), f.again && m.waits(ctx, f, &broke, restarts, out):
			asked = 0
		default:
			return llm.Response{}, &f.public
		}
		out.reset()
	}
}

// attempt makes one completion under the limits that are known.
func (m *Model) attempt(ctx context.Context, req request, out *sink) (llm.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return llm.Response{}, err
	}
	x := &exchange{http: m.o.client(), now: m.o.Now, stream: m.o.Stream && !req.lim.has(noStream), most: int64(m.o.MaxOutput)*perOutput + beside, cancel: cancel}
	cfg := openai.DefaultConfig(m.o.APIKey.Reveal())
	cfg.HTTPClient = x
	if m.o.BaseURL != "" { // go-openai always appends the path of a call
		cfg.BaseURL, x.query, _ = strings.Cut(m.o.BaseURL, "?")
	}
	x.api = openai.NewClientWithConfig(cfg)
	complete := m.chat
	if req.lim.has(needsResponses) {
		complete = m.responses
	}
	resp, err := complete(ctx, x, req, out)
	if err != nil {
		return llm.Response{}, x.explain(err)
	}
	if text := cut(resp.Text, req.Stop); text != resp.Text { // a whole answer of the Responses API
		resp.Text, resp.Finish = text, "stop"
	}
	return resp, nil
}

// request is a call, and the fields to leave out of it.
type request struct {
	llm.Request
	lim limits
}

// sink hands deltas on, and knows whether it has.
type sink struct {
	watch   func(llm.Delta)
	emitted bool
	called  bool

	began    time.Time
	repeated bool
}

func (s *sink) emit(text, reasoning string) {
	if s.watch == nil || text == "" && reasoning == "" {
		return
	}
	s.emitted = true
	s.watch(llm.Delta{Text: text, Reasoning: reasoning})
}

// calls says that the completion calls a tool; once is enough.
func (s *sink) calls() {
	if s.watch == nil || s.called {
		return
	}
	s.called = true
	s.watch(llm.Delta{Calls: true})
}

// pause says that the call waits before it tries again, or, with 0, that it tries.
func (s *sink) pause(why llm.Fault, wait time.Duration) {
	if s.watch != nil {
		s.watch(llm.Delta{Pause: &llm.Pause{Fault: why, For: wait}})
	}
}

func (s *sink) reset() {
	if s.emitted || s.called {
		s.emitted, s.called = false, false
		s.watch(llm.Delta{Reset: true})
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
