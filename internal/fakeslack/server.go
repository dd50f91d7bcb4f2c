// Package fakeslack is a Slack workspace in memory, for tests of the Slack
// adapter through the whole program. It speaks the real protocols over real
// TCP on 127.0.0.1: the Web API under /api/, Socket Mode over WebSockets, file
// uploads and downloads, response URLs. A bot may therefore run in the test's
// process or in one of its own that the test kills.
//
// A test plays the people (Say, React, Click), may plan faults (Fail, Disturb,
// FreezeSockets), and looks at what people would see (Messages, Ephemerals,
// Statuses). It waits for conditions with WaitFor and never for time to pass.
//
// The fake is strict where Slack is: it refuses what Slack refuses and counts
// calls against the published rate limits. On top of that it notes every call
// that no correct program makes, such as an argument that the method does not
// have or blocks that Slack rejects, as a violation. It refuses to know
// anything about nod.
package fakeslack

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// Options say how the workspace behaves. The zero value is a strict workspace
// with the published limits and the people and channels of [DefaultPeople].
type Options struct {
	Addr     string   // where to listen; default 127.0.0.1:0
	BotToken string   // default xoxb-fake-bot
	AppToken string   // default xapp-1-A0APP-1-fake
	Scopes   []string // of the bot token; nil: [AllScopes]
	Events   []string // subscribed events, as message.channels, app_mention; nil: all

	Enterprise string // id of the Grid organisation that the workspace belongs to

	Users    []User // nil: DefaultPeople
	Channels []Channel
	Groups   []Group

	NoLimits   bool          // no rate limits
	LimitScale float64       // times the published rates; default 1
	AckTimeout time.Duration // how long an envelope waits for its ack; default 3 s
	PingEvery  time.Duration // WebSocket pings; default 5 s
	// TriggerLife is how long a trigger is good for; default 3 s
	// (https://docs.slack.dev/interactivity/handling-user-interaction).
	TriggerLife time.Duration
	EditWindow  time.Duration // how long the bot may edit a message; 0: for ever
	ShareAfter  time.Duration // how long after the answer to an upload its message appears
	Slow        bool          // each call takes 100 to 400 ms, as Slack's do
	NoScopes    bool          // answers don't say which scopes the token has
	NoSessions  bool          // the workspace has no agent sessions
	// KeepOffline keeps events while no socket is open, and sends them when
	// one is. Slack promises no such thing: by default they are lost once
	// their retries are used up.
	KeepOffline bool

	Contracts string // folder of method descriptions; default: found beside the checkout
	Lenient   bool   // with Start: violations don't fail the test
	Chaos     Chaos  // random faults
	Seed      uint64 // of everything random
	Now       func() time.Time
}

// Server is a workspace. All its methods may be called concurrently. Those that play a
// person panic on an unknown person or thing: the test is wrong then.
type Server struct {
	opt       Options
	base      string // http://host:port
	http      *http.Server
	contracts map[string]contract
	done      chan struct{}
	running   sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed at the next change; nil while nobody waits
	closed  bool
	rand    *rand.Rand
	serial  int
	lastTS  int64
	ahead   time.Duration // of the clock; see Advance

	people  people
	rooms   rooms
	desk    desk
	wire    wire
	gate    gate
	actions map[string]action // by the token
	record  record
	plan    plan
}

// record is what the fake has noted about its client.
type record struct {
	calls       []Call
	byMethod    map[string][]int
	violations  []string
	rateLimited int
}

// New starts a workspace that runs until Close.
func New(o Options) (*Server, error) {
	o = withDefaults(o)
	found, err := loadContracts(o.Contracts)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &Server{
		opt: o, base: "http://" + l.Addr().String(), contracts: found,
		done: make(chan struct{}), rand: rand.New(rand.NewPCG(o.Seed, o.Seed)),
		people: newPeople(o), rooms: newRooms(), desk: newDesk(), wire: newWire(), gate: newGate(o), actions: map[string]action{},
		record: record{byMethod: map[string][]int{}}, plan: plan{chaos: o.Chaos},
	}
	for _, c := range o.Channels {
		s.addChannel(c)
	}
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.breach("serve: %v", err)
		}
	}()
	return s, nil
}

// Start starts a workspace that ends with the test. Violations fail the test,
// unless the options say otherwise.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatalf("start fake Slack: %v", err)
	}
	t.Cleanup(func() {
		s.Close()
		if o.Lenient {
			return
		}
		for _, v := range s.Violations() {
			t.Errorf("Slack violation: %s", v)
		}
	})
	return s
}

func withDefaults(o Options) Options {
	def := func(s *string, v string) {
		if *s == "" {
			*s = v
		}
	}
	def(&o.Addr, "127.0.0.1:0")
	def(&o.BotToken, "xoxb-fake-bot")
	def(&o.AppToken, "xapp-1-"+App+"-1-fake")
	if o.Scopes == nil {
		o.Scopes = AllScopes()
	}
	if o.Users == nil && o.Channels == nil && o.Groups == nil {
		o.Users, o.Channels, o.Groups = DefaultPeople()
	}
	if o.LimitScale == 0 {
		o.LimitScale = 1
	}
	if o.AckTimeout == 0 {
		o.AckTimeout = 3 * time.Second
	}
	if o.TriggerLife == 0 {
		o.TriggerLife = 3 * time.Second
	}
	if o.PingEvery == 0 {
		o.PingEvery = 5 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/{method}", s.serveAPI)
	mux.HandleFunc("/link/", s.serveSocket)
	mux.HandleFunc("POST /upload/{id}", s.serveUpload)
	mux.HandleFunc("GET /files-pri/{id}/{name}", s.serveFile)
	mux.HandleFunc("GET /files-tmb/{id}/{name}", s.serveFile)
	mux.HandleFunc("POST /response/{id}", s.serveResponse)
	return mux
}

// URL is the root of the server, http://127.0.0.1:port.
func (s *Server) URL() string { return s.base }

// APIURL is what to configure as the address of the Web API, with the slash at
// its end.
func (s *Server) APIURL() string { return s.base + "/api/" }

// BotToken is the bot's token.
func (s *Server) BotToken() string { return s.opt.BotToken }

// AppToken is the app-level token, for Socket Mode.
func (s *Server) AppToken() string { return s.opt.AppToken }

// Checked says whether calls are compared with the published descriptions of
// the methods, which lie outside the checkout and may be absent.
func (s *Server) Checked() bool { return len(s.contracts) > 0 }

// Close ends the workspace with all its connections, and waits for them.
func (s *Server) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	close(s.done)
	for _, d := range s.wire.pending {
		d.stop()
	}
	sockets := slices.Clone(s.wire.sockets)
	s.mu.Unlock()
	for _, c := range sockets {
		c.cut()
	}
	_ = s.http.Close()
	s.running.Wait()
}

// Advance puts the workspace's clock forward: limits refill, triggers and
// statuses expire. What waits in real time, such as AckTimeout, does not notice.
func (s *Server) Advance(d time.Duration) {
	defer s.change()()
	s.ahead += d
}

func (s *Server) now() time.Time { return s.opt.Now().Add(s.ahead) }

// WaitFor returns when the condition holds, or with an error when the context
// ends first. It looks again after every change; the condition may call any
// method of the server.
func (s *Server) WaitFor(ctx context.Context, holds func(*Server) bool) error {
	for {
		s.mu.Lock()
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.Unlock()
		if holds(s) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for condition: %w", ctx.Err())
		}
	}
}

// change locks the server for a change; the function that it returns wakes
// those who wait, and unlocks.
func (s *Server) change() func() {
	s.mu.Lock()
	return func() {
		s.notify()
		s.mu.Unlock()
	}
}

func (s *Server) notify() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// after runs f with the lock held once d has passed, unless the server has
// been closed.
func (s *Server) after(d time.Duration, f func()) *time.Timer {
	return time.AfterFunc(d, func() {
		defer s.change()()
		if !s.closed {
			f()
		}
	})
}

// nextID mints an identifier in the style of Slack: a prefix and ten digits.
func (s *Server) nextID(prefix string) string {
	s.serial++
	return fmt.Sprintf("%s%010d", prefix, s.serial)
}

func (s *Server) uuid() string {
	a, b := s.rand.Uint64(), s.rand.Uint64()
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, a&0x0fff|0x4000, b>>48&0x3fff|0x8000, b&0xffffffffffff)
}
