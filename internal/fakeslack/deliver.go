package fakeslack

import (
	"encoding/json"
	"fmt"
	"time"
)

// maxRetries is how often an event that was not acknowledged is sent again.
const maxRetries = 2

// wire is what goes over the sockets.
type wire struct {
	sockets    []*socket // open ones, oldest first
	tickets    map[string]bool
	pending    map[string]*delivery // by the id of an envelope, until it is done with
	offline    []*delivery          // waits for a socket
	held       []*delivery          // waits for others to overtake it
	deliveries []*delivery          // everything ever dispatched
	acked      int                  // of deliveries
	lost       int
	silent     int // so many next sockets get no hello
	closedDoor int // so many next handshakes fail
}

func newWire() wire {
	return wire{tickets: map[string]bool{}, pending: map[string]*delivery{}}
}

// delivery is one event or interaction on its way to the app.
type delivery struct {
	kind    string // type of the envelope
	name    string // type of the event
	id      string // of the event; of the interaction's trigger
	payload reply
	raw     json.RawMessage
	retries bool
	accepts bool  // the ack may carry an answer
	form    *View // the modal that was filled in and sent off

	attempt   int
	reason    string
	frames    int // how often it was sent
	envelopes []string
	behind    int
	timer     *time.Timer
	sent      time.Time
	acked     time.Time
	lost      bool
	response  json.RawMessage
}

// stop ends the wait for the ack.
func (d *delivery) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}

func (d *delivery) done() bool { return d.lost || !d.acked.IsZero() }

// dispatch sends something on its way, as the plan of faults has it.
func (s *Server) dispatch(d *delivery) {
	var err error
	if d.raw, err = json.Marshal(d.payload); err != nil {
		panic("fakeslack: marshal payload: " + err.Error()) // made of JSON values only
	}
	s.wire.deliveries = append(s.wire.deliveries, d)
	earlier := s.wire.held
	s.wire.held = nil
	s.launch(d, s.disturbanceFor(d))
	for _, h := range earlier {
		if h.behind--; h.behind > 0 {
			s.wire.held = append(s.wire.held, h)
			continue
		}
		s.unhold(h)
	}
}

func (s *Server) launch(d *delivery, x Disturbance) {
	if x.Rewrite != nil {
		d.raw = x.Rewrite(d.raw)
	}
	switch {
	case x.Cut:
		s.send(d)
		if c := s.pick(); c != nil {
			c.cut()
		}
	case x.Lose:
		s.await(d)
	case x.Behind > 0:
		d.behind = x.Behind
		s.wire.held = append(s.wire.held, d)
		d.timer = s.after(s.opt.AckTimeout, func() { s.unhold(d) })
	case x.Delay > 0:
		s.after(x.Delay, func() { s.send(d) })
	default:
		s.send(d)
	}
	if x.Twice {
		s.send(d)
	}
	if x.Phantom {
		s.phantom(d)
	}
}

// unhold sends what was held back, once.
func (s *Server) unhold(d *delivery) {
	if d.frames > 0 || d.done() {
		return
	}
	for i, h := range s.wire.held {
		if h == d {
			s.wire.held = append(s.wire.held[:i:i], s.wire.held[i+1:]...)
			break
		}
	}
	d.stop()
	s.send(d)
}

// phantom sends the event a second time as if it were another message: with a
// timestamp and an event id of its own, but the same client_msg_id.
func (s *Server) phantom(d *delivery) {
	var payload reply
	if json.Unmarshal(d.raw, &payload) != nil {
		return
	}
	event, ok := payload["event"].(map[string]any)
	if !ok || event["client_msg_id"] == nil {
		return
	}
	id, ts := s.nextID("Ev"), s.mintTS()
	event["ts"], event["event_ts"], payload["event_id"] = ts, ts, id
	raw, err := json.Marshal(payload)
	if err != nil {
		return
	}
	twin := &delivery{kind: d.kind, name: d.name, id: id, raw: raw, retries: true}
	s.wire.deliveries = append(s.wire.deliveries, twin)
	s.send(twin)
}

// send puts a delivery into an envelope for an arbitrary socket, and waits for
// its ack. Where there is no socket the attempt counts all the same.
func (s *Server) send(d *delivery) {
	c := s.pick()
	if c == nil && s.opt.KeepOffline && d.retries {
		s.wire.offline = append(s.wire.offline, d)
		return
	}
	if c == nil && !d.retries {
		s.giveUp(d)
		return
	}
	if c != nil {
		env := s.uuid()
		d.envelopes = append(d.envelopes, env)
		d.frames++
		s.wire.pending[env] = d
		c.push(fmt.Appendf(nil,
			`{"envelope_id":%q,"payload":%s,"type":%q,"accepts_response_payload":%t,"retry_attempt":%d,"retry_reason":%q}`,
			env, d.raw, d.kind, d.accepts, d.attempt, d.reason))
	}
	s.await(d)
}

func (s *Server) await(d *delivery) {
	if d.sent.IsZero() {
		d.sent = s.now()
	}
	d.stop()
	d.timer = s.after(s.opt.AckTimeout, func() { s.overdue(d) })
}

// overdue sends again what was not acknowledged in time, or gives up.
func (s *Server) overdue(d *delivery) {
	switch {
	case d.done():
	case !d.retries || d.attempt == maxRetries:
		s.giveUp(d)
	default:
		d.attempt, d.reason = d.attempt+1, "timeout"
		s.send(d)
	}
}

func (s *Server) giveUp(d *delivery) {
	d.lost = true
	s.wire.lost++
	d.forget()
}

// forget lets go of what is no longer needed. The envelopes stay known, since
// an ack may come late.
func (d *delivery) forget() {
	d.stop()
	d.raw, d.payload = nil, nil
}

// online sends what waited for a socket.
func (s *Server) online() {
	waiting := s.wire.offline
	s.wire.offline = nil
	for _, d := range waiting {
		if !d.done() {
			s.send(d)
		}
	}
}

// maxAck is the size from which Slack ignores what comes over a socket.
const maxAck = 20 << 10

// ack takes what the app sends over a socket.
func (s *Server) ack(frame []byte) {
	defer s.change()()
	if len(frame) >= maxAck {
		s.violate("socket", "an ack of 20 KB or more, which is ignored")
		return
	}
	var a struct {
		Envelope string          `json:"envelope_id"`
		Payload  json.RawMessage `json:"payload"`
	}
	if err := json.Unmarshal(frame, &a); err != nil {
		s.violate("socket", "not JSON: "+err.Error())
		return
	}
	d := s.wire.pending[a.Envelope]
	if d == nil {
		s.violate("socket", "ack of an unknown envelope")
		return
	}
	if !d.acked.IsZero() {
		return
	}
	if d.lost {
		d.lost = false
		s.wire.lost--
	}
	d.acked = s.now()
	s.wire.acked++
	if len(a.Payload) > 0 && string(a.Payload) != "null" {
		d.response = a.Payload
		if !d.accepts {
			s.violate("socket", "an answer to an envelope that accepts none")
		}
	}
	if d.form != nil {
		s.sentOff(d.form, d.response)
	}
	d.forget()
}
