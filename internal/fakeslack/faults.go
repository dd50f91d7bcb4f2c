package fakeslack

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Fault is something that goes wrong with calls of the Web API. Of Status,
// Error, RetryAfter, Hang and Drop one is set; with none of them the call is
// only delayed, by Hold or Delay.
type Fault struct {
	Method string          // empty: any
	Match  func(Args) bool // nil: any
	Skip   int             // so many matching calls go well first
	Times  int             // then so many go wrong; 0 means 1, -1 means all

	// After has the call do its work first, so that only the answer is lost.
	After bool

	Status     int           // an HTTP status such as 500
	Body       string        // with Status
	Error      string        // ok:false with this error under status 200
	RetryAfter time.Duration // 429
	Hang       bool          // no answer before the client gives up
	Drop       bool          // the connection is closed instead of an answer

	// Hold and Delay keep the call waiting before its work, which is done even
	// if the client has given up meanwhile.
	Hold  <-chan struct{}
	Delay time.Duration
}

// Disturbance is something that happens to events and interactions on their
// way to the app.
type Disturbance struct {
	Event string // type of the event, or of the interaction; empty: any
	Skip  int
	Times int // 0 means 1, -1 means all

	Twice   bool                        // it is sent twice
	Lose    bool                        // the first attempt gets nowhere
	Delay   time.Duration               // it is sent later
	Behind  int                         // it is sent after so many later ones, or after AckTimeout
	Cut     bool                        // a socket is cut right after it was sent
	Phantom bool                        // a second message event follows: another ts, the same client_msg_id
	Rewrite func(payload []byte) []byte // the payload is replaced; see Garbled, BadBlocks, NilFields, Huge
}

// Chaos are random faults, as probabilities from 0 to 1.
type Chaos struct {
	Twice, Lose, Late, Reorder, Cut float64 // of events

	Before    float64 // of calls: 502, nothing was done
	After     float64 // of calls: 500, though it was done
	Drop      float64 // of calls: the connection ends, though it was done
	RateLimit float64 // of calls: 429 with Retry-After 1
}

// Planned is a fault that was planned.
type Planned struct {
	s           *Server
	fault       *Fault
	disturbance *Disturbance
	skip, left  int
	hits        int
}

// plan is what is to go wrong.
type plan struct {
	faults []*Planned
	chaos  Chaos
}

// Hits is how often it has struck.
func (p *Planned) Hits() int {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.hits
}

// Cancel ends it.
func (p *Planned) Cancel() {
	defer p.s.change()()
	p.left = 0
}

// strikes says whether it is its turn.
func (p *Planned) strikes() bool {
	if p.left == 0 {
		return false
	}
	if p.skip > 0 {
		p.skip--
		return false
	}
	if p.left > 0 {
		p.left--
	}
	p.hits++
	return true
}

func (s *Server) planned(p *Planned, times int) *Planned {
	defer s.change()()
	if times == 0 {
		times = 1
	}
	p.s, p.left = s, times
	s.plan.faults = append(s.plan.faults, p)
	return p
}

// Fail plans a fault of calls. Where several match, the one planned first
// strikes.
func (s *Server) Fail(f Fault) *Planned {
	return s.planned(&Planned{fault: &f, skip: f.Skip}, f.Times)
}

// Disturb plans a disturbance of events.
func (s *Server) Disturb(d Disturbance) *Planned {
	return s.planned(&Planned{disturbance: &d, skip: d.Skip}, d.Times)
}

// Calm ends all faults, planned and random.
func (s *Server) Calm() {
	defer s.change()()
	s.plan = plan{}
}

// SetChaos replaces the random faults.
func (s *Server) SetChaos(c Chaos) {
	defer s.change()()
	s.plan.chaos = c
}

func (s *Server) faultFor(c *call) *Fault {
	defer s.change()()
	for _, p := range s.plan.faults {
		f := p.fault
		if f == nil || f.Method != "" && f.Method != c.method || f.Match != nil && !f.Match(c.args) {
			continue
		}
		if p.strikes() {
			return f
		}
	}
	x := s.plan.chaos
	switch {
	case s.chance(x.Before):
		return &Fault{Status: http.StatusBadGateway}
	case s.chance(x.After):
		return &Fault{Status: http.StatusInternalServerError, After: true}
	case s.chance(x.Drop):
		return &Fault{Drop: true, After: true}
	case s.chance(x.RateLimit):
		return &Fault{RetryAfter: time.Second}
	}
	return nil
}

func (s *Server) chance(p float64) bool { return p > 0 && s.rand.Float64() < p }

func (s *Server) disturbanceFor(d *delivery) Disturbance {
	for _, p := range s.plan.faults {
		if p.disturbance == nil || p.disturbance.Event != "" && p.disturbance.Event != d.name {
			continue
		}
		if p.strikes() {
			return *p.disturbance
		}
	}
	c := s.plan.chaos
	x := Disturbance{Twice: s.chance(c.Twice), Lose: d.retries && s.chance(c.Lose), Cut: s.chance(c.Cut)}
	if s.chance(c.Late) {
		x.Delay = time.Duration(s.rand.Int64N(int64(s.opt.AckTimeout)))
	}
	if s.chance(c.Reorder) {
		x.Behind = 1 + s.rand.IntN(3)
	}
	return x
}

// latency is how long Slack takes to answer a call.
func (s *Server) latency() *Fault {
	defer s.change()()
	return &Fault{Delay: 100*time.Millisecond + time.Duration(s.rand.Int64N(int64(300*time.Millisecond)))}
}

// hold waits as the fault has it, and says whether to go on.
func (f *Fault) hold(s *Server, r *http.Request) bool {
	if f.Delay > 0 {
		t := time.NewTimer(f.Delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-s.done:
			return false
		}
	}
	if f.Hold != nil {
		select {
		case <-f.Hold:
		case <-s.done:
			return false
		}
	}
	return true
}

// spoils says whether the fault takes the place of the answer.
func (f *Fault) spoils() bool {
	return f != nil && (f.Status != 0 || f.Error != "" || f.RetryAfter != 0 || f.Hang || f.Drop)
}

// answer is what the client gets instead of an answer.
func (f *Fault) answer() answer {
	switch {
	case f.RetryAfter != 0:
		return limited(f.RetryAfter)
	case f.Error != "":
		return answer{status: http.StatusOK, code: f.Error, body: reply{"ok": false, "error": f.Error}}
	}
	return answer{status: f.Status}
}

func (f *Fault) serve(s *Server, w http.ResponseWriter, r *http.Request) {
	switch {
	case f.Hang:
		select {
		case <-r.Context().Done():
		case <-s.done:
		}
		panic(http.ErrAbortHandler) // ends the connection
	case f.Drop:
		panic(http.ErrAbortHandler)
	case f.Status != 0:
		body := f.Body
		if body == "" {
			body = "<html><body>" + strconv.Itoa(f.Status) + "</body></html>"
		}
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, body)
	default:
		write(w, f.answer())
	}
}

// Garbled cuts a payload in the middle, so that the frame is no JSON.
func Garbled(payload []byte) []byte { return payload[:len(payload)/2] }

// rewriteEvent gives a Rewrite that changes the event inside of a payload.
func rewriteEvent(change func(event map[string]any)) func([]byte) []byte {
	return func(payload []byte) []byte {
		var p map[string]any
		if json.Unmarshal(payload, &p) != nil {
			return payload
		}
		event, ok := p["event"].(map[string]any)
		if !ok {
			event = p // an interaction
		}
		change(event)
		out, err := json.Marshal(p)
		if err != nil {
			return payload
		}
		return out
	}
}

// BadBlocks gives an event blocks that are none, which strict decoders choke on.
func BadBlocks(payload []byte) []byte {
	return rewriteEvent(func(event map[string]any) {
		event["blocks"] = []any{map[string]any{"type": "section", "text": []any{1}}, 2}
	})(payload)
}

// NilFields gives a Rewrite that makes fields of the event null: those named,
// or all but its type.
func NilFields(names ...string) func([]byte) []byte {
	return rewriteEvent(func(event map[string]any) {
		if len(names) == 0 {
			for name := range event {
				if name != "type" {
					event[name] = nil
				}
			}
		}
		for _, name := range names {
			event[name] = nil
		}
	})
}

// Huge gives a Rewrite that makes the event's text n characters long.
func Huge(n int) func([]byte) []byte {
	return rewriteEvent(func(event map[string]any) {
		text := make([]byte, n)
		for i := range text {
			text[i] = "lorem "[i%6]
		}
		event["text"] = string(text)
	})
}
