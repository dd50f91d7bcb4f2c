package fakeslack

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
)

// A mention in a channel arrives twice: as a message and as an app_mention,
// with the same ts and an event id each.
func TestMentionArrivesTwice(t *testing.T) {
	s := Start(t, Options{})
	b := connect(t, s, 1, nil)
	b.saw(socketmode.EventTypeHello, 1)
	ts := s.Say("U0ADA", "C0GENERAL", Mention+" hello")

	m, a := b.next("message", 1), b.next("app_mention", 1)
	want := event{
		Type: "message", User: "U0ADA", Text: Mention + " hello", TS: ts, Channel: "C0GENERAL", ChannelType: "channel",
		EventTS: ts, ClientMsgID: m.Event.ClientMsgID,
	}
	if d := cmp.Diff(want, m.Event); d != "" {
		t.Errorf("message (-want +got):\n%s", d)
	}
	want.Type, want.ChannelType = "app_mention", ""
	if d := cmp.Diff(want, a.Event); d != "" {
		t.Errorf("app_mention (-want +got):\n%s", d)
	}
	if m.EventID == a.EventID || m.Event.ClientMsgID == "" || m.Time == 0 {
		t.Errorf("want two event ids, a client_msg_id and a time, got %+v and %+v", m, a)
	}
	waitFor(t, s, func(s *Server) bool { return s.Unacked() == 0 })
	if s.Lost() != 0 {
		t.Errorf("lost %d", s.Lost())
	}
}

// Every kind of conversation has its channel_type, a direct one no mention,
// and what the bot is not in stays silent.
func TestChannelTypes(t *testing.T) {
	s := Start(t, Options{})
	b := connect(t, s, 1, nil)
	s.Say("U0ADA", "C0RANDOM", Mention+" can you hear me?")
	s.Say("U0ADA", "C0SECRET", "in private")
	s.Say("U0BOB", s.DM("U0BOB"), Mention+" directly")
	ch, _, _, err := b.OpenConversation(&slack.OpenConversationParameters{Users: []string{"U0ADA", "U0BOB"}, ReturnIM: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Say("U0ADA", ch.ID, "among us")
	b.next("message", 3)
	var got []string
	for _, h := range b.heard("") {
		got = append(got, h.Event.Type+" "+h.Event.ChannelType)
	}
	if d := cmp.Diff([]string{"message group", "message im", "message mpim"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// The bot receives its own posts as events.
func TestOwnPostsComeBack(t *testing.T) {
	s := Start(t, Options{})
	b := connect(t, s, 1, nil)
	_, ts, err := b.PostMessage("C0GENERAL", slack.MsgOptionText("hi", false))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := b.UpdateMessage("C0GENERAL", ts, slack.MsgOptionText("hi there", false)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.PostMessage("C0GENERAL", slack.MsgOptionText("write "+Mention+" to reach me", false)); err != nil {
		t.Fatal(err)
	}
	first, second := b.next("message", 1).Event, b.next("message", 2).Event
	if first.BotID != BotID || first.AppID != App || first.User != BotUser || first.TS != ts {
		t.Errorf("got %+v", first)
	}
	if second.Subtype != "message_changed" || second.Message.BotID != BotID || second.Message.Text != "hi there" || second.TS == ts {
		t.Errorf("got %+v", second)
	}
	waitFor(t, s, func(s *Server) bool { return s.Unacked() == 0 })
	if got := b.heard("app_mention"); len(got) > 0 {
		t.Errorf("it mentions itself: %+v", got)
	}
}

// An unacknowledged event comes twice more, with the same event id. Then it is lost.
// The retries go to any socket.
func TestRedeliveryWithoutAck(t *testing.T) {
	s := Start(t, Options{AckTimeout: 20 * time.Millisecond})
	b := connect(t, s, 2, func(socketmode.Event) bool { return false })
	s.Say("U0ADA", "C0GENERAL", "hello?")
	waitFor(t, s, func(s *Server) bool { return s.Lost() == 1 })
	b.next("message", 3)
	type try struct {
		Attempt int
		Reason  string
	}
	var tries []try
	ids := map[string]bool{}
	for _, h := range b.heard("message") {
		tries = append(tries, try{h.Attempt, h.Reason})
		ids[h.EventID] = true
	}
	if d := cmp.Diff([]try{{0, ""}, {1, "timeout"}, {2, "timeout"}}, tries); d != "" || len(ids) != 1 {
		t.Errorf("%d ids, tries (-want +got):\n%s", len(ids), d)
	}
}

// An ack of the second attempt ends the matter.
func TestAckOfRetry(t *testing.T) {
	s := Start(t, Options{AckTimeout: 500 * time.Millisecond})
	connect(t, s, 1, func(e socketmode.Event) bool { return e.Request.RetryAttempt == 1 })
	s.Say("U0ADA", "C0GENERAL", "hello?")
	waitFor(t, s, func(s *Server) bool { return s.Unacked() == 0 })
	// On a busy machine the ack may be late for the third frame, never for the loss.
	if d := s.Deliveries(); s.Lost() != 0 || len(d) != 1 || d[0].Frames < 2 || d[0].Acked.IsZero() {
		t.Errorf("got %+v", d)
	}
}

// Each event goes to one socket, and all sockets get their share.
func TestOneSocketPerEvent(t *testing.T) {
	s := Start(t, Options{Seed: 1})
	one, two := connect(t, s, 1, nil), connect(t, s, 1, nil)
	const n = 30
	for range n {
		s.Say("U0ADA", "C0GENERAL", "hello")
	}
	waitFor(t, s, func(s *Server) bool { return s.Unacked() == 0 })
	a, b := len(one.heard("message")), len(two.heard("message"))
	if a+b != n || a == 0 || b == 0 {
		t.Errorf("the sockets got %d and %d of %d", a, b, n)
	}
}

// Without a socket events are lost once their retries are used up, or wait
// where the options say so.
func TestOffline(t *testing.T) {
	s := Start(t, Options{AckTimeout: 5 * time.Millisecond})
	s.Say("U0ADA", "C0GENERAL", "anybody?")
	waitFor(t, s, func(s *Server) bool { return s.Lost() == 1 })

	s = Start(t, Options{KeepOffline: true, AckTimeout: 50 * time.Millisecond})
	s.Say("U0ADA", "C0GENERAL", "anybody?")
	b := connect(t, s, 1, nil)
	if h := b.next("message", 1); h.Event.Text != "anybody?" || h.Attempt != 0 {
		t.Errorf("got %+v", h)
	}
}

// A disconnect frame makes the client come back; a cut does too.
func TestReconnect(t *testing.T) {
	for name, end := range map[string]func(*Server){
		"refresh": func(s *Server) { s.Disconnect(0, RefreshRequested) },
		"cut":     func(s *Server) { s.CutSockets(0) },
	} {
		t.Run(name, func(t *testing.T) {
			s := Start(t, Options{})
			b := connect(t, s, 1, nil)
			b.saw(socketmode.EventTypeConnected, 1)
			end(s)
			b.saw(socketmode.EventTypeConnected, 2)
			waitFor(t, s, func(s *Server) bool { return s.Sockets() == 1 })
			s.Say("U0ADA", "C0GENERAL", "still there?")
			b.next("message", 1)
		})
	}
}

// A half-open socket takes events and gives nothing; the client notices by the
// missing pings, and the event comes again over the other socket or the new one.
func TestFrozenSocket(t *testing.T) {
	s := Start(t, Options{AckTimeout: 300 * time.Millisecond, PingEvery: 40 * time.Millisecond})
	b := connect(t, s, 1, nil, socketmode.OptionPingInterval(150*time.Millisecond))
	s.FreezeSockets(0)
	s.Say("U0ADA", "C0GENERAL", "hello?")
	h := b.next("message", 1)
	if h.Attempt == 0 {
		t.Errorf("the first attempt got through: %+v", h)
	}
	b.saw(socketmode.EventTypeConnected, 2)
	waitFor(t, s, func(s *Server) bool { return s.Unacked() == 0 && s.Lost() == 0 })
}

// Sockets without a hello get events all the same.
func TestNoHello(t *testing.T) {
	s := Start(t, Options{})
	s.WithholdHello(1)
	b := connect(t, s, 1, nil)
	s.Say("U0ADA", "C0GENERAL", "hello")
	b.next("message", 1)
	for _, e := range b.events() {
		if e.Type == socketmode.EventTypeHello {
			t.Error("got a hello")
		}
	}
}

// A handshake or an apps.connections.open that fails is tried again.
func TestHardToConnect(t *testing.T) {
	s := Start(t, Options{})
	s.RefuseSockets(1)
	s.Fail(Fault{Method: "apps.connections.open", Error: "internal_error"})
	b := connect(t, s, 1, nil)
	b.saw(socketmode.EventTypeConnectionError, 2)
	if n := len(s.Calls("apps.connections.open")); n != 3 {
		t.Errorf("%d calls, want 3", n)
	}
}

// The eleventh socket is sent away.
func TestTooManySockets(t *testing.T) {
	s := Start(t, Options{Lenient: true, AckTimeout: 20 * time.Millisecond})
	connect(t, s, maxSockets, nil)
	c := api(s)
	_, url, err := c.StartSocketModeContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ws := dial(t, url)
	var frame struct{ Type, Reason string }
	if err := ws.ReadJSON(&frame); err != nil || frame.Type != "disconnect" || frame.Reason != TooManyWebsockets {
		t.Errorf("got %+v, %v", frame, err)
	}
	if _, _, err := ws.ReadMessage(); err == nil {
		t.Error("the socket stays open")
	}
	if len(s.Violations()) != 1 {
		t.Errorf("got %q", s.Violations())
	}
}

// A connection's URL is good once, and acks are judged.
func TestRawSocket(t *testing.T) {
	s := Start(t, Options{Lenient: true})
	_, url, err := api(s).StartSocketModeContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ws := dial(t, url)
	if _, res, err := dialer.Dial(url, nil); err == nil || res.StatusCode != http.StatusForbidden {
		t.Errorf("a second dial: %v", err)
	}
	big := `{"envelope_id":"nope","payload":"` + strings.Repeat("x", maxAck) + `"}`
	for _, frame := range []string{`{"envelope_id":"nope"}`, `{`, big} {
		if err := ws.WriteMessage(1, []byte(frame)); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, s, func(s *Server) bool { return len(s.Violations()) == 3 })
	if got := s.Violations()[2]; !strings.Contains(got, "20 KB") {
		t.Errorf("got %q", got)
	}
}
