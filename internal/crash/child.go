package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"nod/agent"
	"nod/agent/incidents"
	"nod/agent/policy"
	"nod/agent/run"
	"nod/agent/run/keeper"
	"nod/agent/speak"
	"nod/agent/thread"
	"nod/agent/view"
	"nod/chat"
	"nod/internal/script"
	"nod/llm"
	"nod/llm/args"
	"nod/memory"
	"nod/memory/factor"
)

// The environment of a child.
const (
	envChild = "NOD_CRASH_CHILD" // the platform's URL
	envStore = "NOD_CRASH_STORE"
	envDie   = "NOD_CRASH_DIE" // the boundary at which to die; absent: never
	envUntil = "NOD_CRASH_UNTIL"
	envSlow  = "NOD_CRASH_SLOW"
)

// Opener opens the store that a child is told of.
type Opener func(ctx context.Context, url string) (memory.Full, error)

// Main runs the child and exits, when this process is one; call it first in
// TestMain.
func Main(open Opener) {
	url := os.Getenv(envChild)
	if url == "" {
		return
	}
	c := &child{url: url}
	c.die, _ = strconv.ParseInt(os.Getenv(envDie), 10, 64)
	c.slow, _ = time.ParseDuration(os.Getenv(envSlow))
	if err := c.run(open); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
	fmt.Println(passed, c.count.Load())
	os.Exit(0)
}

// passed stands before the number of boundaries that a child passed.
const passed = "boundaries passed:"

type child struct {
	url   string
	die   int64
	slow  time.Duration
	count atomic.Int64

	alerts *keeper.Keeper
}

// boundary is a place between two things that can't happen at once.
func (c *child) boundary() {
	if c.count.Add(1) == c.die {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (c *child) run(open Opener) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	store, err := open(ctx, os.Getenv(envStore))
	if err != nil {
		return err
	}
	inbox := run.Inbox{Store: store, Emoji: map[string]bool{"✅": true, "❌": true, chat.EmojiStop: true}, Agent: newAgent()}
	r := &run.Runner{
		Store: counted{store, c}, Agent: newAgent(), Model: ruled{c}, Tools: effects{c},
		Platforms: map[string]run.Platform{"board": remote{Board: &script.Board{}, c: c}},
	}
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	c.alerts = &keeper.Keeper{
		Store: counted{store, c}, Rules: map[string]incidents.Rules{"pages": {Name: "pages", Same: "{labels.key}", Ask: "act", Quiet: time.Hour, Late: time.Hour, Most: 100}},
		Begin: c.begin, Log: slog.New(slog.DiscardHandler), Observe: func(string, string) {},
	}
	go func() { _ = c.alerts.Run(ctx) }()
	go c.listen(ctx, inbox)
	if until := os.Getenv(envUntil); until != "" {
		if err := c.await(ctx, store, until); err != nil {
			return err
		}
		cancel()
	}
	return errors.Join(<-done, store.Close())
}

// begin begins the thread of an incident, which is named like it.
func (c *child) begin(ctx context.Context, _ string, p chat.Post, look bool) (chat.ThreadID, chat.MessageRef, error) {
	thread := incident(strings.Trim(p.Text.Markdown[strings.LastIndex(p.Text.Markdown, " ")+1:], "`"))
	c.boundary()
	ref, err := ask[chat.MessageRef](ctx, c, "/post", Posted{Thread: thread, Key: memory.PostName(p.Key), Look: look})
	c.boundary()
	return thread, ref, err
}

// incident is the thread of an incident.
func incident(key string) chat.ThreadID {
	return chat.ThreadID{Platform: "board", Channel: "alerts", Root: key}
}

func newAgent() *agent.Agent {
	tool := func(name string, risk policy.Risk, reads bool) policy.Tool {
		schema, err := args.Compile([]byte(`{"type":"object"}`))
		if err != nil {
			panic(err)
		}
		return policy.Tool{
			Tool: llm.Tool{Name: name, Description: name, Parameters: []byte(`{"type":"object"}`)}, Schema: schema,
			Risk: risk, ReadOnly: reads, Rules: script.Rules(), Timeout: 100 * time.Millisecond,
		}
	}
	return &agent.Agent{
		Alerts:    map[string]policy.Alert{"pages": {Approvers: []string{"user:ada"}}},
		Facts:     policy.Facts{Most: 100, Size: 100},
		Schedules: policy.Schedules{Thread: 100, Person: 10_000, Least: time.Minute, Late: time.Hour},
		Protocol:  speak.NativeTools{}, MaxSteps: 12, Count: func(s string) int { return len(s) },
		Tools: []policy.Tool{tool("look", policy.Auto, true), tool("act", policy.Auto, false), tool("deploy", policy.Ask, false)},
	}
}

// ruled is a model that looks once and acts once for each question, in the way that the
// last message names, and then answers. A call that a person ran again is done.
type ruled struct{ c *child }

// Complete implements llm.Model.
func (r ruled) Complete(ctx context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	select {
	case <-time.After(r.c.slow):
	case <-ctx.Done():
		return llm.Response{}, ctx.Err()
	}
	last := req.Messages[len(req.Messages)-1]
	if last.Role == llm.ToolRole || strings.Contains(last.Text, "took this up again") {
		return llm.Response{Text: "done", Finish: "stop"}, nil
	}
	act := "act"
	if strings.Contains(last.Text, "deploy") {
		act = "deploy"
	}
	raw, err := json.Marshal(map[string]string{"for": last.Text})
	if err != nil {
		return llm.Response{}, err
	}
	return llm.Response{Calls: []llm.Call{
		{ID: "1", Name: "look", Args: "{}"}, {ID: "2", Name: act, Args: string(raw)},
	}, Finish: "tool_calls"}, nil
}

// effects are tools that count, in the world that survives.
type effects struct{ c *child }

// Call implements run.Toolbox.
func (e effects) Call(ctx context.Context, desk chat.Desk, call llm.Call) (llm.Result, error) {
	if call.Name == "look" {
		return llm.Result{Text: "seen"}, nil
	}
	e.c.boundary()
	_, err := ask[bool](context.WithoutCancel(ctx), e.c, "/effect", desk.Key) // a slow machine is no timeout
	time.Sleep(e.c.slow)
	e.c.boundary()
	return llm.Result{Text: "done", Files: []llm.File{{Name: "receipt.txt", MediaType: "text/plain", Data: []byte(desk.Key)}}}, err
}

// remote is the platform, across the network.
type remote struct {
	*script.Board
	c *child
}

// Post implements run.Drawer.
func (r remote) Post(ctx context.Context, thread chat.ThreadID, p chat.Post, look bool) (chat.MessageRef, error) {
	r.c.boundary()
	if chat.Doubtful(ctx) {
		return chat.MessageRef{}, chat.ErrDoubt
	}
	ref, err := ask[chat.MessageRef](ctx, r.c, "/post", Posted{thread, memory.PostName(p.Key), look, p.Approval != nil})
	r.c.boundary()
	return ref, err
}

// Edit implements run.Drawer.
func (r remote) Edit(context.Context, chat.ThreadID, chat.MessageRef, chat.Post) error {
	r.c.boundary()
	return nil
}

// counted is a store with a boundary on both sides of every transition.
type counted struct {
	memory.Full
	c *child
}

// Next implements memory.Store.
func (s counted) Next(ctx context.Context, platforms ...string) (*memory.Run, error) {
	r, err := s.Full.Next(ctx, platforms...)
	s.c.boundary()
	return r, err
}

// Commit implements memory.Store.
func (s counted) Commit(ctx context.Context, r *memory.Run, bodies ...memory.Body) ([]memory.Entry, error) {
	s.c.boundary()
	arrived, err := s.Full.Commit(ctx, r, bodies...)
	s.c.boundary()
	return arrived, err
}

// Finish implements memory.Store.
func (s counted) Finish(ctx context.Context, r *memory.Run, at time.Time, bodies ...memory.Body) (bool, error) {
	s.c.boundary()
	more, err := s.Full.Finish(ctx, r, at, bodies...)
	s.c.boundary()
	return more, err
}

// Swap implements memory.Notes.
func (s counted) Swap(ctx context.Context, name string, old, value []byte) (bool, error) {
	s.c.boundary()
	done, err := s.Full.Swap(ctx, name, old, value)
	s.c.boundary()
	return done, err
}

// poll is how often a child asks the platform for events.
const poll = 5 * time.Millisecond

// listen takes events in and acknowledges stored ones.
func (c *child) listen(ctx context.Context, inbox run.Inbox) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		events, err := ask[[]Event](ctx, c, "/events", struct{}{})
		if err != nil {
			continue
		}
		for _, e := range events {
			c.boundary()
			if err := c.take(ctx, inbox, e); err != nil {
				continue
			}
			c.boundary()
			_, _ = ask[bool](ctx, c, "/ack", e.ID)
		}
	}
}

func (c *child) take(ctx context.Context, inbox run.Inbox, e Event) (err error) {
	switch {
	case e.Code:
		err = c.coded(ctx, inbox, e)
	case e.Message != nil:
		_, err = inbox.Message(ctx, e.Thread, *e.Message, e.ID)
	case e.Alert:
		_, err = c.alerts.Posted(ctx, "pages", incidents.Came{Text: "firing", Labels: map[string]string{"key": e.Thread.Root}}, e.ID)
	case e.Again != "":
		err = again(ctx, inbox, e)
	default:
		_, err = inbox.Reaction(ctx, *e.Reaction, e.ID)
	}
	return err
}

// coded has ada send the code of now with the form of the last approval. Each time it is the
// code of a later period.
func (c *child) coded(ctx context.Context, inbox run.Inbox, e Event) error {
	log, err := inbox.Store.Read(ctx, e.Thread)
	if err != nil {
		return err
	}
	code := chat.Code{By: chat.User{ID: "ada", Name: "ada"}}
	for _, entry := range log {
		if b, ok := entry.Body.(memory.Asked); ok {
			code.Call, code.Digest = b.Call, b.Digest
		}
	}
	now := time.Unix(30*time.Now().UnixMilli(), 0)
	factors := factor.Factors{
		Notes: counted{inbox.Store.(memory.Full), c}, Key: func() ([]byte, error) { return make([]byte, 32), nil }, Now: func() time.Time { return now },
	}
	address, err := inbox.Noted(ctx, "phone")
	if err != nil {
		return err
	}
	if len(address) == 0 {
		_, _ = factors.Remove(ctx, "board:ada") // of an earlier life
		made, err := factors.Add(ctx, "board:ada")
		if err != nil {
			return err
		}
		address = []byte(made)
		if err := inbox.Note(ctx, "phone", address); err != nil {
			return err
		}
	}
	phone, err := otp.NewKeyFromURL(string(address))
	if err != nil {
		return err
	}
	if code.Digits, err = totp.GenerateCode(phone.Secret(), now); err != nil {
		return err
	}
	inbox.Factors = factors
	refused, err := inbox.Code(ctx, e.Thread, code, e.ID)
	if refused != "" && !strings.Contains(refused, "is over") {
		err = errors.New(refused)
	}
	return err
}

// again has ada send the form of a call of the first turn.
func again(ctx context.Context, inbox run.Inbox, e Event) error {
	log, err := inbox.Store.Read(ctx, e.Thread)
	if err != nil {
		return err
	}
	for _, entry := range log {
		st, _ := entry.Body.(memory.Step)
		for _, c := range st.Calls {
			if c.Tool != e.Again {
				continue
			}
			sent := chat.Change{Call: c.ID, By: chat.User{ID: "ada", Name: "ada"}, Args: `{"for":"somebody else"}`}
			refused, err := inbox.RunAgain(ctx, e.Thread, sent, e.ID)
			if refused != "" {
				return errors.New(refused)
			}
			return err
		}
	}
	return errors.New("there is no such call")
}

// await waits until all of the threads named in until have come so far:
// "asked THREAD…", "twice THREAD…" (asked) or "ended THREAD…".
func (c *child) await(ctx context.Context, store memory.Reader, until string) error {
	words := strings.Fields(until)
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for range tick.C {
		all := true
		for _, w := range words[1:] {
			thread, err := chat.ParseThreadID(w)
			if err != nil {
				return err
			}
			log, err := store.Read(ctx, thread)
			if err != nil || !reached(log, words[0]) {
				all = false
				break
			}
		}
		if all {
			return nil
		}
	}
	return nil
}

// reached says whether a thread has come to the state.
func reached(log []memory.Entry, state string) bool {
	open, asked, any := 0, 0, false
	for _, e := range log {
		switch b := e.Body.(type) {
		case memory.Message:
			any = true
			if e.Seq == 0 {
				return false
			}
		case memory.Opened:
			open++
		case memory.Ended:
			open--
		case memory.Posted:
			if strings.HasPrefix(b.Key, "ask/") {
				asked++
			}
		}
	}
	switch state {
	case "asked":
		return asked > 0
	case "twice":
		return asked > 1
	}
	t := agent.NewLog(log, agent.Claim{}).Thread
	planned := slices.ContainsFunc(t.Folk.Schedules, func(c *thread.Schedule) bool { return !c.Over })
	return any && open == 0 && !planned && !view.Standing(t).Running
}

// ask calls the platform.
func ask[Out, In any](ctx context.Context, c *child, path string, in In) (out Out, err error) {
	raw, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+path, bytes.NewReader(raw))
	if err != nil {
		return out, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return out, err
	}
	defer func() { _ = resp.Body.Close() }()
	return out, json.NewDecoder(resp.Body).Decode(&out)
}
