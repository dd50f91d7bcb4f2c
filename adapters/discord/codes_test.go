package discord

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/internal/fakediscord"
)

// callCodes are Discord's numbers for refusing a call that posts nothing
// (https://discord.com/developers/docs/topics/opcodes-and-status-codes#json).
var callCodes = []int{
	0, 10001, 10002, 10003, 10004, 10007, 10008, 10011, 10013, 10014, 10066, 20001, 20012, 20016, 20022, 20028, 20029, 30010, 30032, 30033, 30046, 30061,
	40002, 40004, 40006, 40012, 40041, 40062, 40333, 50001, 50003, 50005, 50007, 50013, 50021, 50024, 50025, 50033, 50035, 50041, 50055, 50068, 50083,
	50109, 50151, 60003, 90001, 110000, 130000, 160005, 160006, 160007, 220001, 240000, 340001,
}

// hurdle is a call that Discord refuses once. begin starts a scene in which it is
// made, in a server of its own; then is what holds after it.
type hurdle struct {
	route string
	only  []int // codes; nil: all
	opt   func(*Options)
	begin func(o *office, n int)
	then  func(o *office) bool
}

// strike has Discord refuse the next call of a route with a code.
func strike(o *office, route string, code int) *fakediscord.Injected {
	status := http.StatusBadRequest
	switch {
	case code/1000 == 10:
		status = http.StatusNotFound
	case slices.Contains([]int{20001, 20012, 40002, 40333, 50001, 50007, 50013}, code):
		status = http.StatusForbidden
	}
	return o.fake.Inject(fakediscord.Fault{Route: route, Status: status, Code: code, Message: "In Discord's words"})
}

// texts are those of the messages that were put, for whoever waits for more.
func texts(o *office) []string {
	var out []string
	for _, m := range o.in.Messages {
		out = append(out, m.Text)
	}
	return out
}

// says is that somebody said a text that the bot has heard.
func says(text string) func(*office) bool {
	return func(o *office) bool { return slices.Contains(texts(o), text) }
}

// hurdles are the calls that a message, a reaction or a command leads to.
var hurdles = []hurdle{
	{"POST /channels/{channel}/typing", []int{0, 10003, 50001, 50013, 50083, 130000}, nil, func(o *office, _ int) {
		th := direct(o.fake.DM(o.bob))
		o.a.Working(th, chat.Work{})
		o.a.Working(th, chat.Work{What: "Thinking"})
	}, nil},
	{"PUT /channels/{channel}/thread-members/@me", nil, withCommands, func(o *office, _ int) {
		th := o.fake.OpenThread(o.ada, o.general, "", "ours")
		o.fake.Slash(o.ada, th, "ask", map[string]any{"question": "in a thread"})
	}, says("in a thread")},
	{"PUT /channels/{channel}/thread-members/{user}", nil, withCommands, func(o *office, _ int) {
		o.fake.Slash(o.ada, o.general, "ask", map[string]any{"question": "in a channel"})
	}, says("in a channel")},
	{"GET /channels/{channel}", nil, nil, func(o *office, _ int) {
		other := o.fake.AddChannel(o.guild, "other")
		o.fake.Say(o.ada, o.general, o.mention()+" see <#"+other+">")
	}, func(o *office) bool {
		return slices.ContainsFunc(texts(o), func(s string) bool { return strings.HasPrefix(s, "see #") })
	}},
	{"GET /channels/{channel}/messages", nil, nil, func(o *office, _ int) {
		th := o.fake.OpenThread(o.ada, o.general, "", "ours")
		o.fake.Say(o.bob, th, "before")
		o.fake.Say(o.ada, th, o.mention()+" what is meant?")
	}, says("what is meant?")},
	{"GET /guilds/{guild}/roles", nil, nil, func(o *office, n int) {
		if n > 0 {
			_, _ = o.a.atlas.Draws("GUILD_ROLE_UPDATE", []byte(`{"guild_id":"`+o.guild+`"}`)) // it forgets the roles
		}
		role := o.fake.AddRole(o.guild, "ops", 0)
		o.fake.Say(o.ada, o.general, o.mention()+" tell <@&"+role+">")
	}, func(o *office) bool {
		return slices.ContainsFunc(texts(o), func(s string) bool { return strings.HasPrefix(s, "tell @") })
	}},
	{"GET /channels/{channel}/messages/{message}", nil, nil, func(o *office, _ int) {
		o.in.Do(func() { o.in.Waiting = nil })
		p := asking("{}")
		th := direct(o.fake.DM(o.ada))
		post := chat.Post{Key: "p" + o.fake.DM(o.ada) + time.Now().String(), Approval: p}
		ref, err := o.a.Post(context.Background(), th, post, false)
		if err != nil { // the look at all approvals began meanwhile, and looking at this one was refused
			ref, err = o.a.Post(context.Background(), th, post, true)
		}
		if err != nil {
			panic(err)
		}
		o.in.Do(func() {
			o.in.Waiting = []chat.Pending{{Thread: th, Ref: ref, Call: p.Call, Approve: p.Approve, Deny: p.Deny}}
		})
		o.fake.React(o.ada, ref.ID, "✅")
		o.fake.ClearReactions(ref.ID, "")
	}, nil},
	{"DELETE /channels/{channel}/messages/{message}", nil, func(o *Options) { o.Brief = time.Millisecond }, func(o *office, _ int) {
		th := direct(o.fake.DM(o.ada))
		if err := o.a.Whisper(context.Background(), th, chat.User{ID: chat.UserID(o.ada)}, chat.MessageRef{}, "You may not."); err != nil {
			panic(err)
		}
	}, nil},
}

// Where Discord refuses to say who reacted, whose a server is or to open a thread,
// nothing is taken for said, and the next try is as if the first had not been.
func TestEveryRefusedFact(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{Public: true}, nil)
	o.fake.OwnApp(o.ada)
	p := asking("{}")
	th := direct(o.fake.DM(o.ada))
	ref := o.post(th, chat.Post{Key: "ask", Approval: p}, false)
	o.fake.React(o.ada, ref.ID, "✅")
	id := o.fake.Say(o.ada, o.general, "in a thread")
	closed := o.fake.OpenThread(o.ada, o.general, id, "closed")
	for _, code := range callCodes {
		for route, try := range map[string]func() (bool, error){
			"GET /channels/{channel}/messages/{message}/reactions/{emoji}": func() (bool, error) {
				found, err := o.a.Reactions(t.Context(), chat.Pending{Thread: th, Ref: ref, Call: p.Call, Approve: p.Approve, Deny: p.Deny}, false)
				return len(found) == 1, err
			},
			"GET /guilds/{guild}": func() (bool, error) {
				o.a.atlas.SetOwner(o.guild, "")
				return o.a.people.ServesGuild(t.Context(), o.guild)
			},
			"PATCH /channels/{channel}": func() (bool, error) { return true, o.a.unarchive(t.Context(), closed) },
		} {
			fault := strike(o, route, code)
			ok, err := try()
			for n := 0; n < 10 && err == nil; n++ { // what was written may be handled just now, and be refused in its stead
				if fault.Hits() > 0 {
					fault = strike(o, route, code)
				}
				ok, err = try()
			}
			if err == nil || ok && route != "PATCH /channels/{channel}" || fault.Hits() != 1 {
				t.Errorf("%s: %d: %t, %v, after %d refusals", route, code, ok, err, fault.Hits())
			}
			if _, err := try(); err != nil {
				t.Errorf("%s: %d: then %v", route, code, err)
			}
		}
	}
}

// Discord refuses a call that posts nothing once, with each of its codes. Its purpose
// goes on, and the next message is heard.
func TestEveryOtherRefusal(t *testing.T) {
	t.Parallel()
	for _, h := range hurdles {
		t.Run(h.route, func(t *testing.T) {
			t.Parallel()
			o := open(t, fakediscord.Options{}, h.opt)
			if o.a.o.Commands {
				o.wait(func(s *fakediscord.Server) bool { return slices.Contains(s.Commands(), "ask") })
			}
			codes := h.only
			if codes == nil {
				codes = callCodes
			}
			for n, code := range codes {
				fault := strike(o, h.route, code)
				o.in.Do(func() { o.in.Messages = nil })
				h.begin(o, n)
				o.wait(func(*fakediscord.Server) bool { return fault.Hits() > 0 })
				if h.then != nil {
					o.in.Await(t, func() bool { return h.then(o) })
				}
				o.fake.Say(o.cleo, o.fake.DM(o.cleo), "and then?")
				o.in.Await(t, func() bool { return slices.Contains(texts(o), "and then?") })
			}
		})
	}
}

// Discord refuses a call of the start once, with each of its codes. The bot still
// begins to listen.
func TestEveryRefusalAtFirst(t *testing.T) {
	t.Parallel()
	for _, route := range []string{
		"GET /users/@me", "GET /applications/@me", "GET /gateway/bot", "GET /applications/{app}/commands", "PUT /applications/{app}/commands",
	} {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			for _, code := range callCodes {
				o := build(t, fakediscord.Options{})
				fault := strike(o, route, code)
				o.run(withCommands)
				o.wait(func(*fakediscord.Server) bool { return fault.Hits() > 0 })
				o.fake.Say(o.ada, o.fake.DM(o.ada), "hello")
				o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
				o.stop()
			}
		})
	}
}

// Where Discord refuses to say who somebody is, they have no role and see no
// thread, whatever it refuses that with; later they do.
func TestEveryRefusedLook(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	role := o.fake.AddRole(o.guild, "ops", 0)
	o.fake.SetRoles(o.guild, o.ada, role)
	private := o.fake.OpenPrivate(o.bob, o.general, "between us", o.ada, o.fake.Bot())
	o.in.Do(func() { o.in.Threads[thread(o.general, private)] = chat.Standing{Known: true} })
	for _, code := range callCodes {
		for route, look := range map[string]func() bool{
			"GET /guilds/{guild}/members/{user}": func() bool {
				are, err := o.a.Members(t.Context(), thread(o.general, "1"), "role:"+role, []chat.UserID{chat.UserID(o.ada)})
				return len(are) == 1 && err == nil
			},
			"GET /channels/{channel}/thread-members/{user}": func() bool {
				v, err := o.a.Visit(t.Context(), direct(o.fake.DM(o.ada)), chat.User{ID: chat.UserID(o.ada)})
				return err == nil && v.Sees(thread(o.general, private))
			},
		} {
			fault := strike(o, route, code)
			if look() || fault.Hits() != 1 {
				t.Errorf("%s: %d: they are taken for more than they may be", route, code)
			}
			if !look() {
				t.Errorf("%s: %d: they are not known later", route, code)
			}
		}
	}
}

// A reaction counts all the same once Discord says who reacted, if what it refuses
// that with is known to pass.
func TestRefusedReaction(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	o.fake.Twist(func(kind string, data map[string]any) {
		if kind == "MESSAGE_REACTION_ADD" {
			delete(data, "member")
		}
	})
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	th := thread(o.general, id)
	o.in.Do(func() { o.in.Threads[th] = chat.Standing{Known: true} })
	for n, code := range api.Passing {
		ref := o.post(th, answer("a"+string(rune('0'+n)), "done"), false)
		fault := strike(o, "GET /users/{user}", code)
		o.fake.React(o.bob, ref.ID, "🛑") // who votes is looked up later
		o.in.Await(t, func() bool {
			return fault.Hits() == 1 && slices.ContainsFunc(o.in.Reactions, func(r chat.Reaction) bool { return r.On == ref })
		})
	}
}
