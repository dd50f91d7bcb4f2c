package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/chat"
	"nod/chat/patience"
	"nod/llm"
	"nod/tools"
)

// asks is a tool that asks a person what its argument says, "MODE|SCHEMA|WORDS", and
// says what came of it. The library brings it into the form of the version that is
// spoken: a request in the middle of the call, or an answer of its own.
func asks(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if r, ok := req.Params.InputResponses["q"].(*sdk.ElicitResult); ok {
		raw, err := json.Marshal(r.Content)
		return says(fmt.Sprintf("the person: %s %s", r.Action, raw)), err
	}
	var args struct{ Text string }
	_ = json.Unmarshal(req.Params.Arguments, &args)
	part := strings.SplitN(args.Text, "|", 3)
	p := &sdk.ElicitParams{Mode: "form", Message: part[2]}
	if part[0] == "url" {
		p.Mode, p.URL, p.ElicitationID = "url", part[1], "1"
	} else if part[1] != "" {
		p.RequestedSchema = json.RawMessage(part[1])
	}
	return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"q": p}}, nil
}

// person answers what they are asked.
type person struct {
	mu    sync.Mutex
	asked []chat.Question
	reply func(ctx context.Context, q chat.Question) (chat.Answer, error)
}

func (p *person) ask(ctx context.Context, q chat.Question) (chat.Answer, error) {
	p.mu.Lock()
	p.asked = append(p.asked, q)
	p.mu.Unlock()
	return p.reply(ctx, q)
}

func (b *bench) askedBy(p *person, tool, text string) llm.Result {
	b.t.Helper()
	raw, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		b.t.Fatal(err)
	}
	r, _ := b.box.Call(b.t.Context(), chat.Desk{Key: "k", Ask: p.ask}, llm.Call{Name: tool, Args: string(raw)})
	return r
}

const wantsEnv = `{"type":"object","properties":{"env":{"type":"string","enum":["prod","test"]}},"required":["env"]}`

// each plays a test with a server on either transport, of an older and the newest
// version of the protocol.
func each(t *testing.T, p pace, play func(t *testing.T, b *bench, tool string)) {
	t.Helper()
	for _, old := range []bool{false, true} {
		dir := t.TempDir()
		version := "newest"
		if old {
			version = "older"
			touch(dir, "old")
		}
		t.Run("program, "+version, func(t *testing.T) {
			play(t, connect(t, Options{Servers: []Server{stdio(t, dir)}, pace: p}), "test_ask")
		})
		t.Run("web, "+version, func(t *testing.T) {
			site := newSite(t, false, func() *sdk.Server { return build(dir) })
			play(t, connect(t, Options{Servers: []Server{site.server()}, pace: p}), "web_ask")
		})
	}
}

// A call that was half done when it asked is not said to have been left alone, where the
// server does not take the answer.
func TestElicitationAnswerRefused(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 404, 409} {
		site := newSite(t, true, func() *sdk.Server { return build(t.TempDir()) })
		f := before(site, func(w http.ResponseWriter, tool string, nth int) bool {
			if tool == "ask" && nth == 2 {
				w.WriteHeader(status)
			}
			return tool == "ask" && nth == 2
		})
		b := connect(t, Options{Servers: []Server{site.server()}})
		ada := &person{reply: func(context.Context, chat.Question) (chat.Answer, error) {
			return chat.Answer{How: chat.Accepted, By: chat.User{Name: "ada"}, Text: "Prod", Values: `{"env":"prod"}`}, nil
		}}
		if r := b.askedBy(ada, "web_ask", "form|"+wantsEnv+"|Where to?"); !r.Failed || !strings.Contains(r.Text, "Whether it was done is not known") {
			t.Errorf("%d: %q", status, r.Text)
		}
		if n := f.count("ask"); n != 2 || len(ada.asked) != 1 {
			t.Errorf("%d: %d requests, asked %d times", status, n, len(ada.asked))
		}
	}
}

// A program that ends while a person thinks is not asked for the same again.
func TestElicitationOutlivesTheServer(t *testing.T) {
	t.Parallel()
	b := connect(t, Options{Servers: []Server{stdio(t, t.TempDir())}})
	ada := &person{reply: func(context.Context, chat.Question) (chat.Answer, error) {
		if r, _ := b.call("test_dies", `{}`); !r.Failed {
			t.Errorf("it lives: %q", r.Text)
		}
		return chat.Answer{How: chat.Accepted, By: chat.User{Name: "ada"}, Text: "Prod", Values: `{"env":"prod"}`}, nil
	}}
	if r := b.askedBy(ada, "test_ask", "form|"+wantsEnv+"|Where to?"); !r.Failed || !strings.Contains(r.Text, "Whether it was done is not known") {
		t.Errorf("%q", r.Text)
	}
	if len(ada.asked) != 1 {
		t.Errorf("asked %d times", len(ada.asked))
	}
}

// A server's question in the middle of a call reaches the person, and their answer the
// server. The model is told of both.
func TestElicitation(t *testing.T) {
	t.Parallel()
	each(t, quick, func(t *testing.T, b *bench, tool string) {
		ada := &person{reply: func(context.Context, chat.Question) (chat.Answer, error) {
			return chat.Answer{How: chat.Accepted, By: chat.User{Name: "ada"}, Text: "Prod", Values: `{"env":"prod"}`}, nil
		}}
		r := b.askedBy(ada, tool, "form|"+wantsEnv+"|Where to?")
		server, _, _ := strings.Cut(tool, "_")
		if !strings.Contains(r.Text, `the person: accept {"env":"prod"}`) || !strings.Contains(r.Text, `[`+server+` asked ada: "Where to?", who answered; only the server has the answer]`) || r.Failed {
			t.Errorf("result: %q", r.Text)
		}
		if len(ada.asked) != 1 || ada.asked[0].From != server || ada.asked[0].Text != "Where to?" || !strings.Contains(ada.asked[0].Schema, `"env"`) {
			t.Errorf("asked: %+v", ada.asked)
		}
		if strings.Contains(b.logs.String(), "Where") || strings.Contains(b.logs.String(), "rod") {
			t.Errorf("what was asked is in the log:\n%s", b.logs)
		}
	})
}

// In the newest version a question outlives the program and the process: it is a handle,
// and the answer goes with the same call to another one.
func TestElicitationOutlivesAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	call := llm.Call{Name: "test_ask", Args: `{"text":"form|` + strings.ReplaceAll(wantsEnv, `"`, `\"`) + `|Where to?"}`}
	var h *chat.Handle
	desk := chat.Desk{Key: "k", Hold: func(held chat.Handle) { h = &held }}
	if r, err := connect(t, Options{Servers: []Server{stdio(t, dir)}}).box.Call(t.Context(), desk, call); err != nil || h == nil || h.Repeats || len(h.Asks) != 1 || h.Asks[0].Text != "Where to?" {
		t.Fatalf("%+v, %v, %+v", r, err, h)
	}
	desk.Resumes = &chat.Resumed{Handle: *h, Answers: []chat.Answer{{How: chat.Accepted, By: chat.User{Name: "ada"}, Values: `{"env":"prod"}`}}}
	r, err := connect(t, Options{Servers: []Server{stdio(t, dir)}}).box.Call(t.Context(), desk, call)
	if want := "[test asked ada: \"Where to?\", who answered; only the server has the answer]\nthe person: accept {\"env\":\"prod\"}"; err != nil || r.Text != want {
		t.Errorf("%q, %v, want %q", r.Text, err, want)
	}
}

// The time that people take is not the call's.
func TestElicitationTakesItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, limit, stop := patience.With(t.Context(), time.Second, errSlow)
		defer stop()
		slowly := func(context.Context, chat.Question) (chat.Answer, error) {
			time.Sleep(time.Minute)
			return chat.Answer{How: chat.Accepted}, nil
		}
		r := &running{in: tools.Input{Desk: chat.Desk{Ask: slowly}}, limit: limit, ctx: ctx}
		s := &server{log: slog.New(slog.DiscardHandler)}
		if a, err := s.put(t.Context(), r, chat.Question{Text: "Sure?"}); err != nil || a.How != chat.Accepted || ctx.Err() != nil {
			t.Errorf("%+v, %v; the call: %v", a, err, context.Cause(ctx))
		}
	})
}

// However a question ends, the server hears of it, and its call goes on.
func TestElicitationEnds(t *testing.T) {
	t.Parallel()
	each(t, quick, func(t *testing.T, b *bench, tool string) {
		for how, want := range map[chat.How]string{
			chat.Declined:   "the person: decline",
			chat.Unanswered: "the person: decline",
			chat.Dropped:    "the person: cancel",
		} {
			ada := &person{reply: func(context.Context, chat.Question) (chat.Answer, error) { return chat.Answer{How: how}, nil }}
			if r := b.askedBy(ada, tool, "form||Sure?"); !strings.Contains(r.Text, want) || r.Failed {
				t.Errorf("%s: %q", how, r.Text)
			}
		}
	})
}

// An unsuitable question is declined before a person sees it, and the model is told.
func TestElicitationDeclined(t *testing.T) {
	t.Parallel()
	each(t, quick, func(t *testing.T, b *bench, tool string) {
		ada := &person{reply: func(context.Context, chat.Question) (chat.Answer, error) {
			t.Error("somebody was asked")
			return chat.Answer{}, nil
		}}
		for text, why := range map[string]string{
			`form|{"type":"object","properties":{"password":{"type":"string"}}}|Your password?`:                        "it asks for a secret",
			`form|{"type":"object","properties":{"x":{"type":"string"}}}|Paste your GitHub token`:                      "it asks for a secret",
			`form|{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","enum":["x"]}}}}|Which?`: "more than plain fields",
			`form||` + strings.Repeat("x", 2000): "longer than 1500 bytes",
			`form|| `:                            "does not say what it wants",
			`form|{"type":"object","properties":{"a":{"type":"string","description":"` + strings.Repeat("x", 900) + `"}}}|Which one?`: "too much at once",
		} {
			if r := b.askedBy(ada, tool, text); !strings.Contains(r.Text, "the person: decline") || !strings.Contains(r.Text, why) {
				t.Errorf("%.80s: %q", text, r.Text)
			}
		}
		if r := b.askedBy(ada, tool, `url|https://phish.example/|Sign in`); !r.Failed && !strings.Contains(r.Text, "the person: decline") {
			t.Errorf("an address: %q", r.Text)
		}
		nobody, _ := b.call(tool, `{"text":"form||Sure?"}`)
		if !strings.Contains(nobody.Text, "the person: decline") {
			t.Errorf("with nobody there: %q", nobody.Text)
		}
	})
}

// Calls of several threads share a session: each person is asked what their own call
// wants to know. Where that can't be told, nobody is asked.
func TestElicitationOfSeveral(t *testing.T) {
	t.Parallel()
	p := quick
	p.whom = 200 * time.Millisecond
	each(t, p, func(t *testing.T, b *bench, tool string) {
		var all sync.WaitGroup
		for _, name := range []string{"ada", "ben", "cid"} {
			who := &person{reply: func(_ context.Context, q chat.Question) (chat.Answer, error) {
				if !strings.HasSuffix(q.Text, name+"?") {
					t.Errorf("%s was asked %q", name, q.Text)
				}
				return chat.Answer{How: chat.Accepted, By: chat.User{Name: name}, Text: "yes", Values: `{}`}, nil
			}}
			all.Go(func() {
				r := b.askedBy(who, tool, "form||Is it "+name+"?")
				tells := !strings.HasSuffix(t.Name(), "/program,_older")
				if tells && !strings.Contains(r.Text, "the person: accept") {
					t.Errorf("%s: %q", name, r.Text)
				}
			})
		}
		all.Wait()
	})
}

// A server can't say of which call its question is: that is what the stream says.
func TestWithCall(t *testing.T) {
	t.Parallel()
	for _, method := range []string{`elicitation/create`, `\u0065licitation/create`} {
		forged := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"message":"?","_meta":{"nod/call":"7","x":1}}}`
		got := string(withCall([]byte(forged), &running{id: "3"}))
		if strings.Contains(got, `"7"`) || !strings.Contains(got, `"nod/call":"3"`) || !strings.Contains(got, `"x":1`) {
			t.Errorf("on the stream of a call: %s", got)
		}
		if got := string(withCall([]byte(forged), nil)); strings.Contains(got, "nod/call") {
			t.Errorf("on another stream: %s", got)
		}
	}
	for _, other := range []string{`{"method":"ping"}`, `{"method":"elicitation/create"`, `{"method":"elicitation/create"}`, `{"id":1,"result":{"content":[{"type":"text","text":"elicitation"}]}}`} {
		if got := string(withCall([]byte(other), &running{id: "3"})); got != other {
			t.Errorf("%s became %s", other, got)
		}
	}
}
