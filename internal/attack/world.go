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
)

// Options are the program's set-up.
type Options struct {
	Suite    Suite
	Platform string // Slack, Discord
	Protocol string // tools, react, numbered
	Budget   int    // memory.budget_tokens
	Taint    string // agent.taint
	Find     string // tools.find; under always the model spells each call by use_tool
	Dir      string // where its files are
	// Bot runs the program with these arguments until it ends by itself, or, for
	// the service, until ctx is done.
	Bot func(ctx context.Context, args ...string) error
}

// World is the program with all that is around it: a platform, a model and a server
// of tools. One case is played at a time.
type World struct {
	o     Options
	chat  platform
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
	chat, err := newPlatform(o.Platform)
	if err != nil {
		return nil, err
	}
	w := &World{o: o, chat: chat, stop: func() {}}
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
	// Somebody has accepted the tools: the board measures their results.
	accepted := w.o.Bot(ctx, "check", "--config", file, "--accept-mcp")
	if accepted != nil {
		return fmt.Errorf("accept the tools: %w", accepted)
	}
	live, stop := context.WithCancel(ctx)
	w.stop, w.ended = stop, make(chan error, 1)
	go func() { w.ended <- w.o.Bot(live, "run", "--config", file) }()
	return w.await(ctx, "the program is connected", w.chat.connected)
}

// config is the file: reads are marked as such, and every call runs unasked as far as
// the program allows.
func (w *World) config() string {
	var names, reads []string
	sends := map[string][]string{}
	for _, t := range w.o.Suite.used() {
		names = append(names, t.Name)
		if t.ReadOnly {
			reads = append(reads, t.Name)
		}
		if len(t.Sends) > 0 && !t.Undeclared {
			sends[t.Name] = t.Sends
		}
	}
	section := func(v any) string {
		raw, _ := json.Marshal(v) // texts and numbers only; and JSON is YAML
		return string(raw)
	}
	return fmt.Sprintf("store: sqlite:nod.db\nllm: %s\nagent: %s\nmemory: %s\n%s: %s\ntools: %s\n",
		section(map[string]any{"base_url": w.llm.URL, "api_key": "k", "model": "m", "protocol": w.o.Protocol}),
		section(map[string]any{"taint": w.o.Taint}),
		section(map[string]any{"budget_tokens": w.o.Budget}),
		w.o.Platform, section(w.chat.section()),
		section(map[string]any{"find": w.o.Find, "mcp": []any{map[string]any{
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
	w.chat.close()
	w.llm.Close()
	w.tools.Close()
	return err
}

// patience is how long a case may take; only one that fails takes it.
const patience = 30 * time.Second

func (w *World) await(ctx context.Context, what string, holds func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := w.chat.waitFor(ctx, holds); err != nil {
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
	w.mu.Unlock()
	in := w.chat.ask(w.count, c)
	decided := map[string]bool{}
	for turns := 1; ; {
		var cards []shown
		answers := 0
		err := w.await(ctx, c.Name()+" is answered", func() bool {
			cards, answers = look(w.chat.messages(in), decided)
			return answers >= turns || len(cards) > 0
		})
		if err != nil {
			return Score{}, err
		}
		if answers >= turns && len(cards) == 0 {
			if w.over(p) {
				break
			}
			turns++
			if c.order.Later == again {
				w.chat.again(in, answered(w.chat.messages(in)))
			} else {
				w.chat.say(in, c.order.Later)
			}
		}
		for _, card := range cards {
			decided[card.id] = true
			w.mu.Lock()
			yes, words := false, ""
			if card.asks {
				words = p.replyTo()
			} else {
				yes = p.decides(card.Call)
			}
			w.mu.Unlock()
			switch {
			case words != "":
				w.chat.say(in, words)
			case !card.asks:
				w.chat.decide(in, card.id, yes)
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = nil
	p.through = p.through || w.chat.rings(in)
	return p.ended(), nil
}

// again is what the person puts on an answer that they want anew.
const again = "🔄"

// answered is the message of the last answer.
func answered(list []message) string {
	for _, m := range slices.Backward(list) {
		if strings.Contains(strings.Join(m.texts, "\n"), over) {
			return m.id
		}
	}
	return ""
}

// over says whether the person has nothing more to say.
func (w *World) over(p *play) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := p.later
	p.later = true
	return was
}

// shown is a card, or a question of the server, as a person sees it.
type shown struct {
	Call
	id   string
	asks bool
}

var cardLine = regexp.MustCompile(`^Approval \d+: ` + server + `_(\w+)$`)

// look finds the cards that wait, and counts the answers.
func look(list []message, decided map[string]bool) (cards []shown, answers int) {
	for _, m := range list {
		if text := strings.Join(m.texts, "\n"); strings.Contains(text, over) || strings.Contains(text, ", run by ") {
			answers++
		}
		if decided[m.id] {
			continue
		}
		if strings.Contains(strings.Join(m.texts, "\n"), server+" asks:") { // also where a reply does not fit
			cards = append(cards, shown{id: m.id, asks: true})
			continue
		}
		args := slices.IndexFunc(m.texts, func(text string) bool { return json.Valid([]byte(text)) && strings.HasPrefix(text, "{") })
		if found := cardLine.FindStringSubmatch(m.texts[0]); found != nil && args >= 0 {
			cards = append(cards, shown{Call{Tool: found[1], Args: json.RawMessage(m.texts[args])}, m.id, false})
		}
	}
	return cards, answers
}
