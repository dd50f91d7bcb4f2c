package discord

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	gocmp "github.com/google/go-cmp/cmp"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/front"
	"nod/internal/fakediscord"
)

// Who may decide is pinged by the approval, and nobody by what becomes of it; the
// steps ring nowhere.
func TestPings(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	ops := o.fake.AddRole(o.guild, "ops", 0)
	o.fake.Mentionable(o.guild, ops)
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	th := thread(o.general, id)
	p := asking("{}")
	p.Requester, p.Exclude = chat.User{ID: chat.UserID(o.ada)}, []chat.User{{ID: chat.UserID(o.ada)}}
	p.Approvers = []string{"requester", "user:" + o.bob, "role:" + ops}
	ref := o.post(th, chat.Post{Key: "p", Approval: p}, false)
	if diff := gocmp.Diff([]string{o.bob, ops}, slices.Sorted(slices.Values(o.fake.Message(ref.ID).Pings))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p.Outcome, p.By = chat.Approved, []chat.User{{ID: chat.UserID(o.bob)}}
	if err := o.a.Edit(t.Context(), th, ref, chat.Post{Key: "p", Approval: p}); err != nil {
		t.Fatal(err)
	}
	steps := o.post(th, chat.Post{Key: "s", Steps: &chat.Steps{Turn: "1"}}, false)
	if m := o.fake.Message(steps.ID); m.Flags&int(discordgo.MessageFlagsSuppressNotifications) == 0 || len(m.Pings) > 0 {
		t.Errorf("the steps: %+v", m)
	}
	if n := len(o.fake.Pings(id)); n != 2 {
		t.Errorf("%d pings in all", n)
	}
	for _, c := range o.fake.Calls("PATCH /channels/{channel}/messages/{message}") {
		if !strings.Contains(string(c.Body), `"allowed_mentions":{"parse":[],"replied_user":false}`) {
			t.Errorf("a change may ping: %s", c.Body)
		}
	}
}

// An answer for which somebody had to wait pings them, and nobody else; also when
// it is posted again.
func TestSlowAnswer(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{})
	late := func(opt *Options) { opt.Now = func() time.Time { return time.Now().Add(time.Minute) } }
	o.run(late)
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	th := thread(o.general, id)
	p := answer("a", "done, <@"+o.bob+">")
	p.ReplyTo = api.RefOf(api.PlaceOf(th), id)
	ref := o.post(th, p, false)
	q := answer("b", "done")
	q.ReplyTo = api.RefOf(api.PlaceOf(th), o.fake.Say(o.cleo, id, o.mention()+" again"))
	o.post(th, q, false)
	if diff := gocmp.Diff([]string{o.ada, o.cleo}, o.fake.Pings(id)); diff != "" {
		t.Errorf("pings (-want +got):\n%s", diff)
	}
	o.stop()
	o.fake.ForgetNonces()
	o.run(nil) // to which the question seems new
	if again := o.post(th, p, true); again != ref || len(o.fake.Posts(id)) != 2 {
		t.Errorf("it was posted again: %+v", o.fake.Posts(id))
	}
}

// A click on a button is put like the emoji for which it stands; whoever denied is
// asked why. What one person is told then is told them alone.
func TestVoteButtons(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{})
	o.run(nil)
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	th := thread(o.general, id)
	ref := o.post(th, chat.Post{Key: "p", Approval: asking("{}")}, false)
	buttons := o.fake.Message(ref.ID).Buttons()
	o.fake.Duplicate(1000) // whatever else is told between
	o.fake.Click(o.ada, ref.ID, buttons[0])
	denied := o.fake.Click(o.bob, ref.ID, buttons[1])
	o.in.Await(t, func() bool { return len(o.in.Reactions) == 2 })
	o.fake.Duplicate(0)
	o.wait(func(s *fakediscord.Server) bool { return s.Interactions()[1].Form != "" })
	got := slices.SortedFunc(slices.Values(o.in.Reactions), func(x, y chat.Reaction) int { return strings.Compare(x.Emoji, y.Emoji) })
	want := []chat.Reaction{
		{On: ref, By: chat.User{ID: chat.UserID(o.ada), Name: "Ada"}, Emoji: "✅", Button: true, Way: chat.ByButton},
		{On: ref, By: chat.User{ID: chat.UserID(o.bob), Name: "bob"}, Emoji: "❌", Button: true, Way: chat.ByButton},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("reactions (-want +got):\n%s", diff)
	}
	o.fake.Fill(denied, "too late\nin the day")
	o.in.Await(t, func() bool { return len(o.in.Said) == 1 })
	if want := th.Root + " c-7 bob: too late in the day"; o.in.Said[0] != want {
		t.Errorf("the reason is %q, want %q", o.in.Said[0], want)
	}
	if err := o.a.Whisper(t.Context(), th, want[1].By, ref, "You may not."); err != nil {
		t.Fatal(err)
	}
	if e := o.fake.Ephemerals(o.bob); len(e) != 1 || e[0].Content != "You may not." || len(o.fake.Posts(id)) != 1 {
		t.Errorf("he is told %+v", e)
	}
	o.in.Do(func() {
		if len(o.in.Reactions) != 2 { // a second delivery is a repeat, or finds the click answered
			t.Errorf("the clicks are %+v", o.in.Reactions)
		}
	})
}

// The form that asks why opens before the click is judged: so it does not say that the
// call is denied, and who sends it is told what the judge said.
func TestDenialIsJudgedLater(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	th := thread(o.general, o.fake.Say(o.ada, o.general, o.mention()+" go"))
	ref := o.post(th, chat.Post{Key: "p", Approval: asking("{}")}, false)
	for who, says := range map[string]string{
		o.bob: "Your reaction does not count: only these may decide: user:" + o.ada + ".",
		o.ada: "The call is denied.",
		"":    "", // nobody has judged it yet
	} {
		by := cmp.Or(who, o.cleo)
		o.in.Do(func() { o.in.Verdicts[chat.UserID(by)] = says })
		asked := o.answered(o.fake.Click(by, ref.ID, o.fake.Message(ref.ID).Buttons()[1]))
		if asked.Modal.Title != "Deny: why?" || asked.Modal.Fields[0].Most != front.MostReason {
			t.Errorf("the form is %+v", asked.Modal)
		}
		sent := o.answered(o.fake.Fill(asked.ID, "too late"))
		want := strings.ReplaceAll(says, "user:"+o.ada, "<@"+o.ada+">")
		if says == "" && len(sent.Replies) > 0 || says != "" && (len(sent.Replies) != 1 || sent.Replies[0].Reader != by || sent.Replies[0].Content != want) {
			t.Errorf("answered %+v, want %q", sent, want)
		}
	}
}

// A private word to a person who clicked comes after the answer to the click; Discord
// takes none before.
func TestToldAfterTheAnswer(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{})
	looked, told := make(chan struct{}, 1), make(chan error, 1)
	var whisper func() error
	o.run(func(opt *Options) {
		opt.Now = func() time.Time {
			select {
			case looked <- struct{}{}:
			default:
			}
			return time.Now()
		}
		via(func(r *http.Request) (int, string, bool) {
			if strings.HasSuffix(r.URL.Path, "/callback") {
				for len(looked) > 0 {
					<-looked
				}
				go func() { told <- whisper() }()
				<-looked // it is on its way
			}
			return 0, "", false
		})(opt)
	})
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	ref := o.post(thread(o.general, id), chat.Post{Key: "p", Approval: asking("{}")}, false)
	whisper = func() error {
		return o.a.Whisper(context.Background(), thread(o.general, id), chat.User{ID: chat.UserID(o.bob)}, ref, "You may not.")
	}
	for n := range 10 {
		o.fake.Click(o.bob, ref.ID, o.fake.Message(ref.ID).Buttons()[0])
		if err := <-told; err != nil {
			t.Fatal(err)
		}
		if alone, all := len(o.fake.Ephemerals(o.bob)), len(o.fake.Posts(id)); alone != n+1 || all != 1 {
			t.Fatalf("%d are told him alone, and %d posts stand for all", alone, all)
		}
	}
}

// A store that does not answer is said, within the time that there is.
func TestVoteWithoutStore(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	dm := o.fake.DM(o.ada)
	ref := o.post(direct(dm), chat.Post{Key: "p", Approval: asking("{}")}, false)
	o.in.Do(func() { o.in.Fail = context.DeadlineExceeded })
	o.fake.Click(o.ada, ref.ID, o.fake.Message(ref.ID).Buttons()[0])
	o.wait(func(s *fakediscord.Server) bool {
		e := s.Ephemerals(o.ada)
		return len(e) == 1 && strings.Contains(e[0].Content, "did not work")
	})
	o.in.Do(func() { o.in.Fail = nil })
}

func TestNoButtons(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, func(o *Options) { o.NoButtons = true })
	dm := o.fake.DM(o.ada)
	p := asking("{}")
	p.Approvers = []string{"user:" + o.ada}
	p.Quiet = true
	ref := o.post(direct(dm), chat.Post{Key: "p", Approval: p}, false)
	if m := o.fake.Message(ref.ID); len(m.Buttons()) > 0 || len(m.Pings) > 0 {
		t.Errorf("buttons %q, pings %q", m.Buttons(), m.Pings)
	}
}

// Beside the steps of a turn at work there is a button that stops it.
func TestStopButton(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	th := thread(o.general, id)
	steps := &chat.Steps{Turn: "1", Version: 1, Status: "Running deploy"}
	ref := o.post(th, chat.Post{Key: "s", Steps: steps}, false)
	buttons := o.fake.Message(ref.ID).Buttons()
	o.in.Do(func() { o.in.Threads[th] = chat.Standing{Known: true, Running: true} })
	o.fake.Click(o.bob, ref.ID, buttons[1])
	o.in.Await(t, func() bool { return len(o.in.Halts) == 1 && o.in.Halts[0] == th })
	steps.Version, steps.Done = 2, true
	if err := o.a.Edit(t.Context(), th, ref, chat.Post{Key: "s", Steps: steps}); err != nil {
		t.Fatal(err)
	}
	if got := o.fake.Message(ref.ID).Buttons(); len(got) != 1 {
		t.Errorf("in the end it has %q", got)
	}
}

// Only who takes part in a conversation stops what runs in it, and nobody else is
// told that it stops.
func TestWhoStops(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	th := thread(o.general, o.fake.Say(o.ada, o.general, o.mention()+" go"))
	ref := o.post(th, chat.Post{Key: "s", Steps: &chat.Steps{Turn: "1", Version: 1, Status: "Running deploy"}}, false)
	o.in.Do(func() {
		o.in.Threads[th] = chat.Standing{Known: true, Running: true, Callers: []chat.UserID{chat.UserID(o.ada)}}
	})
	for who, want := range map[string]string{o.ada: "Stopping.", o.bob: "if you have written something"} {
		o.fake.Click(who, ref.ID, o.fake.Message(ref.ID).Buttons()[1])
		o.wait(func(s *fakediscord.Server) bool {
			e := s.Ephemerals(who)
			return len(e) == 1 && strings.Contains(e[0].Content, want)
		})
	}
}

// Steps that read the same are not written again.
func TestSameSteps(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	dm := direct(o.fake.DM(o.ada))
	steps := chat.Steps{Turn: "1", Version: 1, Status: "Running deploy"}
	ref := o.post(dm, chat.Post{Key: "s", Steps: &steps}, false)
	steps.Version, steps.Items = 2, []chat.Step{}
	steps.Done = false
	for v := uint64(2); v < 6; v++ {
		again := steps
		again.Version = v
		if err := o.a.Edit(t.Context(), dm, ref, chat.Post{Key: "s", Steps: &again}); err != nil {
			t.Fatal(err)
		}
	}
	steps.Version, steps.Done = 9, true
	if err := o.a.Edit(t.Context(), dm, ref, chat.Post{Key: "s", Steps: &steps}); err != nil {
		t.Fatal(err)
	}
	if n := len(o.fake.Calls(editRoute)); n != 1 {
		t.Errorf("%d changes", n)
	}
}

// A removed vote counts also on a card in a channel itself, in a chain of replies or
// alone, that another process drew. Discord does not name the author of the message
// then.
func TestTakenBackInAChannel(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	o.fake.BotMay(o.guild, fakediscord.Usual&^fakediscord.CreatePublicThreads)
	th := thread(o.general, o.fake.Say(o.ada, o.general, o.mention()+" go"))
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	chain := o.post(th, chat.Post{Key: "p", Approval: asking("{}")}, false)
	copied := asking("{}")
	copied.Home, copied.Elsewhere = th, true
	_, alone, err := o.a.Copy(t.Context(), "channel:"+o.fake.AddChannel(o.guild, "ops"), chat.Post{Key: "copy", Approval: copied}, false)
	if err != nil {
		t.Fatal(err)
	}
	refs := []chat.MessageRef{chain, alone}
	for i, ref := range refs {
		o.fake.React(o.bob, ref.ID, "✅")
		o.in.Await(t, func() bool { return len(o.in.Reactions) == i+1 && o.in.Reactions[i].On == ref })
	}
	o.stop()
	o.run(nil)
	for i, ref := range refs {
		o.fake.Unreact(o.bob, ref.ID, "✅")
		o.in.Await(t, func() bool { return len(o.in.Reactions) == i+3 })
		if r := o.in.Reactions[i+2]; r.On != ref || !r.Removed {
			t.Errorf("it was put as %+v", r)
		}
	}
}
