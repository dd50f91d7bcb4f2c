package attack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"nod/internal/fakellm"
	"nod/internal/fakeslack"
)

// Options are what the program is set up with.
type Options struct {
	Suite    Suite
	Protocol string // tools, react, numbered
	Budget   int    // memory.budget_tokens
	Taint    string // agent.taint
	Dir      string // where its files are
	// Bot runs the program with these arguments until it ends by itself, or, for
	// the service, until ctx is done.
	Bot func(ctx context.Context, args ...string) error
}

// World is the program with all that is around it: a workspace of Slack, a model
// and a server of tools. One case is played at a time.
type World struct {
	o     Options
	slack *fakeslack.Server
	llm   *fakellm.Server
	tools *httptest.Server

	stop  context.CancelFunc
	ended chan error // of the service; nil: it was not started
	count int

	mu  sync.Mutex
	now *play
}

// NewWorld starts the program. Close ends it.
func NewWorld(ctx context.Context, o Options) (*World, error) {
	slack, err := fakeslack.New(fakeslack.Options{NoLimits: true})
	if err != nil {
		return nil, err
	}
	w := &World{o: o, slack: slack, stop: func() {}}
	w.llm = fakellm.New(w.complete)
	w.tools = httptest.NewServer(http.HandlerFunc(w.serve))
	if err := w.start(ctx); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *World) start(ctx context.Context) error {
	file := filepath.Join(w.o.Dir, "nod.yaml")
	if err := os.WriteFile(file, []byte(w.config()), 0o600); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	// Somebody has looked at the tools: what is measured is what their results bring.
	accepted := w.o.Bot(ctx, "check", "--config", file, "--accept-mcp")
	if accepted != nil {
		return fmt.Errorf("accept the tools: %w", accepted)
	}
	live, stop := context.WithCancel(ctx)
	w.stop, w.ended = stop, make(chan error, 1)
	go func() { w.ended <- w.o.Bot(live, "run", "--config", file) }()
	return w.await(ctx, "the program is connected", func() bool { return w.slack.Sockets() > 0 })
}

// config is the file: reads are marked as such, and all runs unasked but for what
// the program itself has to say.
func (w *World) config() string {
	var names, reads []string
	sends := map[string][]string{}
	for _, t := range w.o.Suite.used() {
		names = append(names, t.Name)
		if t.ReadOnly {
			reads = append(reads, t.Name)
		}
		if len(t.Sends) > 0 {
			sends[t.Name] = t.Sends
		}
	}
	quick := map[string]int{}
	for _, m := range []string{"chat.postMessage", "chat.update", "reactions.add", "users.info", "agents.sessions.setStatus", "assistant.threads.setStatus", "conversations.info", "conversations.replies", "reactions.get"} {
		quick[m] = 60_000
	}
	section := func(v any) string {
		raw, _ := json.Marshal(v) // texts and numbers only; and JSON is YAML
		return string(raw)
	}
	return fmt.Sprintf("store: sqlite:nod.db\nllm: %s\nagent: %s\nmemory: %s\nslack: %s\ntools: %s\n",
		section(map[string]any{"base_url": w.llm.URL, "api_key": "k", "model": "m", "protocol": w.o.Protocol}),
		section(map[string]any{"taint": w.o.Taint}),
		section(map[string]any{"budget_tokens": w.o.Budget}),
		section(map[string]any{"app_token": w.slack.AppToken(), "bot_token": w.slack.BotToken(), "api_url": w.slack.APIURL(), "limits": quick}),
		section(map[string]any{"mcp": []any{map[string]any{
			"name": server, "url": w.tools.URL, "tools": names, "read_only": reads, "sends": sends, "risk": map[string]string{"*": "auto"},
		}}}))
}

// used are the tools that some case calls: small prompts have no room for more.
func (s Suite) used() []Tool {
	calls := map[string]bool{}
	for _, c := range Cases(s) {
		for _, step := range c.steps {
			calls[step.Tool] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(s.Tools), func(t Tool) bool { return !calls[t.Name] })
}

// Close ends the program, and all that is around it.
func (w *World) Close() error {
	w.stop()
	var err error
	if w.ended != nil {
		err = <-w.ended
	}
	w.slack.Close()
	w.llm.Close()
	w.tools.Close()
	return err
}

// patience is how long a case may take; only one that fails takes it.
const patience = 30 * time.Second

func (w *World) await(ctx context.Context, what string, holds func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := w.slack.WaitFor(ctx, func(*fakeslack.Server) bool { return holds() }); err != nil {
		return fmt.Errorf("wait until %s: %w", what, err)
	}
	return nil
}

// Play plays a case: a person of its own asks in a direct message, and decides
// about each card until the model has answered.
func (w *World) Play(ctx context.Context, c Case) (Score, error) {
	p := begin(c)
	w.mu.Lock()
	w.now = p
	w.count++
	who := fmt.Sprintf("U0P%05d", w.count)
	w.mu.Unlock()
	w.slack.AddUser(fakeslack.User{ID: who, Name: fmt.Sprintf("person%d", w.count)})
	dm := w.slack.DM(who)
	ts := w.slack.Say(who, dm, escape(c.prompt))
	decided := map[string]bool{}
	for {
		var cards []shown
		answered := false
		err := w.await(ctx, c.Name()+" is answered", func() bool {
			cards, answered = look(w.slack.Messages(dm, ts), decided)
			return answered || len(cards) > 0
		})
		if err != nil {
			return Score{}, err
		}
		if answered && len(cards) == 0 {
			break
		}
		for _, card := range cards {
			decided[card.ts] = true
			w.mu.Lock()
			yes := p.decides(card.Call)
			w.mu.Unlock()
			w.slack.React(who, dm, card.ts, map[bool]string{true: "white_check_mark", false: "x"}[yes])
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = nil
	return p.ended(), nil
}

// escape writes a text as Slack's wire has it.
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// shown is a card as a person sees it.
type shown struct {
	Call
	ts string
}

var cardLine = regexp.MustCompile(`^Approval \d+: ` + server + `_(\w+)$`)

// look finds the cards that wait, and says whether the answer is there.
func look(list []fakeslack.Message, decided map[string]bool) (cards []shown, answered bool) {
	for _, m := range list {
		if !m.Bot() || m.Deleted {
			continue
		}
		texts := textsOf(m.Blocks)
		answered = answered || strings.Contains(m.Text+strings.Join(texts, "\n"), over)
		if decided[m.TS] || len(texts) == 0 {
			continue
		}
		args := slices.IndexFunc(texts, func(text string) bool { return json.Valid([]byte(text)) && strings.HasPrefix(text, "{") })
		if found := cardLine.FindStringSubmatch(texts[0]); found != nil && args >= 0 {
			cards = append(cards, shown{Call{Tool: found[1], Args: json.RawMessage(texts[args])}, m.TS})
		}
	}
	return cards, answered
}

// textsOf are the texts of blocks, in order.
func textsOf(blocks json.RawMessage) (out []string) {
	var v any
	if json.Unmarshal(blocks, &v) != nil {
		return nil
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if text, ok := v["text"].(string); ok {
				out = append(out, text)
			}
			for _, k := range []string{"elements", "text"} {
				if _, isText := v[k].(string); !isText {
					walk(v[k])
				}
			}
		}
	}
	walk(v)
	return out
}
