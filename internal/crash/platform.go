// Package crash kills nod and checks the remains. A test process hosts the world that
// survives: a small platform that delivers events until they are acknowledged and keeps
// the posts, and a counter of side effects. Child
// processes are the test binary once more, running nod's own store, agent and
// runner against that world, and die by SIGKILL, at a chosen boundary or at
// random.
package crash

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/chat"
)

// Event is a message of the platform to nod.
type Event struct {
	ID       string
	Thread   chat.ThreadID
	Message  *chat.Message
	Reaction *chat.Reaction
	Code     bool   // ada sends the form with the code of now
	Again    string // ada runs the first call of this tool again, with other arguments
	Alert    bool   // an alert comes about the incident that the thread is of
}

// Platform is the world that survives.
type Platform struct {
	URL     string
	Approve bool          // every approval message gets a ✅ from the requester
	Slow    time.Duration // how long the model and side effects take

	mu      sync.Mutex
	blinks  int // how many posts may be made twice
	events  []Event
	sent    map[string]time.Time // when an event was last handed out
	acked   map[string]bool
	posts   map[string]int // thread and key → how often it was made
	effects map[string]int
	faults  []string
}

// redeliver is after how long an event that was not acknowledged comes again.
const redeliver = 150 * time.Millisecond

// NewPlatform starts a platform.
func NewPlatform(t *testing.T) *Platform {
	p := &Platform{sent: map[string]time.Time{}, acked: map[string]bool{}, posts: map[string]int{}, effects: map[string]int{}}
	mux := http.NewServeMux()
	handle(mux, "/events", p.next)
	handle(mux, "/ack", p.ack)
	handle(mux, "/post", p.post)
	handle(mux, "/effect", p.effect)
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	p.URL = srv.URL
	return p
}

func handle[In, Out any](mux *http.ServeMux, path string, f func(In) Out) {
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		var in In
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(f(in))
	})
}

// Send queues an event.
func (p *Platform) Send(e Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, e)
}

// Say queues a message of ada's.
func (p *Platform) Say(thread chat.ThreadID, id, text string) { p.said(thread, id, text, 0) }

// Later queues a message by which she has it asked in a second: a minute after she wrote
// it.
func (p *Platform) Later(thread chat.ThreadID, id, text string) {
	p.said(thread, id, "in 1m: "+text, time.Minute-time.Second)
}

func (p *Platform) said(thread chat.ThreadID, id, text string, ago time.Duration) {
	p.Send(Event{ID: id, Thread: thread, Message: &chat.Message{
		Ref:  chat.MessageRef{Platform: thread.Platform, Channel: thread.Channel, ID: id},
		From: chat.User{ID: "ada", Name: "ada"}, Text: text, Sent: time.Now().Add(-ago),
	}})
}

// next hands out the events that are due.
func (p *Platform) next(struct{}) []Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Event
	for _, e := range p.events {
		if !p.acked[e.ID] && time.Since(p.sent[e.ID]) > redeliver {
			p.sent[e.ID] = time.Now()
			out = append(out, e)
		}
		if len(out) == 20 {
			break
		}
	}
	return out
}

func (p *Platform) ack(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acked[id] = true
	return true
}

// Blink lets one more post be made twice. Between the last look at a lease and the
// sending there is a moment in which a process may stand still; only a platform with
// keys of its own can close it.
func (p *Platform) Blink() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blinks++
}

// Posted is a post as a child makes it.
type Posted struct {
	Thread chat.ThreadID
	Key    string
	Look   bool
	Asks   bool
}

func (p *Platform) post(in Posted) chat.MessageRef {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := in.Thread.String() + " " + in.Key
	ref := chat.MessageRef{Platform: in.Thread.Platform, Channel: in.Thread.Channel, ID: name}
	if p.posts[name] > 0 && in.Look {
		return ref
	}
	if p.posts[name] > 0 && p.blinks > 0 {
		p.blinks--
		return ref
	}
	p.posts[name]++
	if p.posts[name] > 1 {
		p.faults = append(p.faults, "posted twice: "+name)
	}
	if in.Asks && p.Approve {
		p.events = append(p.events, Yes(in.Thread, ref))
	}
	return ref
}

// Yes is ada's approval of the message.
func Yes(thread chat.ThreadID, ref chat.MessageRef) Event {
	return Event{ID: "yes " + ref.ID, Thread: thread, Reaction: &chat.Reaction{
		On: ref, By: chat.User{ID: "ada", Name: "ada"}, Emoji: "✅",
	}}
}

func (p *Platform) effect(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.effects[key]++
	if p.effects[key] > 1 {
		p.faults = append(p.faults, "ran twice: "+key)
	}
	return true
}

// Quiet says whether everything that was sent is acknowledged.
func (p *Platform) Quiet() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !slices.ContainsFunc(p.events, func(e Event) bool { return !p.acked[e.ID] })
}

// Asked gives the approval messages that were posted.
func (p *Platform) Asked() []chat.MessageRef {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []chat.MessageRef
	for name := range p.posts {
		var thread, key string
		if _, err := fmt.Sscan(name, &thread, &key); err != nil || len(key) < 4 || key[:4] != "ask/" {
			continue
		}
		id, err := chat.ParseThreadID(thread)
		if err != nil {
			continue
		}
		out = append(out, chat.MessageRef{Platform: id.Platform, Channel: id.Channel, ID: name})
	}
	return out
}

// Count counts the posts whose names have this beginning.
func (p *Platform) Count(thread chat.ThreadID, beginning string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	total := 0
	for name, n := range p.posts {
		if strings.HasPrefix(name, thread.String()+" "+beginning) {
			total += n
		}
	}
	return total
}

// Effects says how many calls took effect.
func (p *Platform) Effects() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.effects)
}

// Faults lists violations.
func (p *Platform) Faults() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.faults)
}
