// Package fakediscord is a Discord that runs inside a test: REST v9 and v10
// and the Gateway, over real TCP on this machine, so that the bot may as well
// be another process.
//
// A test builds a small world (guilds, roles, channels, people), lets people
// say, click and react, and looks at what the bot did. Everything that a bot
// sees has the shape that Discord documents, and a request that Discord would
// refuse is refused with Discord's code. Requests are also compared with
// Discord's published description of its API, where that lies beside the
// checkout; what breaks it, or a limit that it leaves out, is in
// [Server.Violations].
//
// One lock guards the world, and events are queued under it, so every session
// sees them in the order in which they happened, unless a fault is asked for.
//
// Where Discord does not document a figure (how long a nonce is remembered,
// the size of most rate limit buckets), the choice is an option or stands
// beside the constant.
package fakediscord

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// object is a JSON object on its way out.
type object = map[string]any

// Options say what the application is and how strict the server is. The zero
// value is an application without privileged intents under Discord's own
// limits.
type Options struct {
	Token      string        // the bot's token, without "Bot "; "token" when empty
	Name       string        // the bot's name; "nod" when empty
	Privileged int           // privileged intents that are switched on for the application, such as [IntentMessageContent]
	Invite     int64         // what the bot's role allows in a new guild; [Usual] when 0
	Public     bool          // anybody may invite the bot
	OldApp     bool          // the application is of a time when it had another id than its bot
	Heartbeat  time.Duration // heartbeat interval; 41.25 s when 0
	Silence    time.Duration // a session without a heartbeat for so long is over; twice Heartbeat when 0
	Shards     int           // how many shards GET /gateway/bot recommends; 1 when 0

	NoLimits      bool          // no rate limit at all
	LimitScale    float64       // 10: ten times as many requests in the same time
	NonceWindow   time.Duration // how long a nonce is remembered; 3 minutes when 0
	ResumeWindow  time.Duration // how long a session without a connection can be resumed; 3 minutes when 0
	Deadline      time.Duration // how long an interaction waits for its first answer; 3 s when 0
	ActiveThreads int           // how many threads of a guild may be active; 1,000 when 0

	Contract string           // discord-openapi.json; looked for beside the checkout when empty
	Now      func() time.Time // time.Now when nil
}

func (o *Options) defaults() {
	set(&o.Token, "token")
	set(&o.Name, "nod")
	set(&o.Invite, Usual)
	set(&o.Heartbeat, 41250*time.Millisecond)
	set(&o.Silence, 2*o.Heartbeat)
	set(&o.Shards, 1)
	set(&o.LimitScale, 1)
	set(&o.NonceWindow, 3*time.Minute)
	set(&o.ResumeWindow, 3*time.Minute)
	set(&o.Deadline, 3*time.Second)
	set(&o.ActiveThreads, 1000)
	if o.Now == nil {
		o.Now = time.Now
	}
}

func set[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}

// Server is a Discord. Its methods may be called from any goroutine. Those that act for
// people panic on an unknown id: the test is wrong then.
type Server struct {
	options  Options
	base     string // http://127.0.0.1:PORT
	http     *http.Server
	contract *contract
	done     chan struct{} // closed by Close: lets go of answers that are held back
	running  sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed and replaced whenever something happened

	world
	traffic
	gateway
}

// New starts a server. Close ends it.
func New(o Options) (*Server, error) {
	o.defaults()
	c, err := loadContract(o.Contract)
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &Server{
		options: o, contract: c, base: "http://" + l.Addr().String(),
		done: make(chan struct{}), changed: make(chan struct{}),
	}
	s.world = newWorld(o)
	s.traffic = newTraffic()
	s.gateway = gateway{sessions: map[string]*session{}, sessionsLeft: allowance{left: identifiesADay}}
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: time.Minute}
	s.running.Go(func() { _ = s.http.Serve(l) })
	return s, nil
}

// Start is New for a test: the server ends with the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Close cuts every connection and waits until nothing runs any more.
func (s *Server) Close() {
	s.mu.Lock()
	select {
	case <-s.done:
	default:
		close(s.done)
	}
	for _, c := range slices.Clone(s.connections) {
		c.cut()
	}
	s.mu.Unlock()
	_ = s.http.Close()
	s.running.Wait()
}

// URL is what a configuration calls discord.api_url: the version path is not
// in it.
func (s *Server) URL() string { return s.base + "/api" }

// Token is the bot's token, without "Bot ".
func (s *Server) Token() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options.Token
}

// ResetToken makes a new token, after which the old one is refused.
func (s *Server) ResetToken() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Token = "token " + s.newID()
}

// Client gives an HTTP client that sends requests for Discord and its CDN, in any
// scheme, to this server: for a library with fixed addresses.
func (s *Server) Client() *http.Client {
	return &http.Client{Transport: detour(s.base[len("http://"):])}
}

// detour sends requests to another host, which it holds.
type detour string

func (d detour) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host, r.Host = "http", string(d), string(d)
	return http.DefaultTransport.RoundTrip(r)
}

// change wakes those who wait for a condition. The lock is held.
func (s *Server) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// WaitFor waits until holds says yes. It is asked again after everything that
// happens here, without a lock held, so it may call any method.
func (s *Server) WaitFor(ctx context.Context, holds func(*Server) bool) error {
	for {
		s.mu.Lock()
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

func (s *Server) now() time.Time { return s.options.Now() }
