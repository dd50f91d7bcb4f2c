package slack

import (
	"testing"

	"nod/chat"
	"nod/internal/fakeslack"
)

// Who is heard, and who may not decide: colleagues of the workspace and of its
// Grid organisation are people, others are what the file says they are, and an
// account of which nothing is known is nobody.
func TestWhoIsHeard(t *testing.T) {
	t.Parallel()
	people := map[string]fakeslack.User{
		"own":         {ID: "U1", Name: "own"},
		"stranger":    {ID: "U1", Name: "x", Team: "T9", Stranger: true},
		"other team":  {ID: "U1", Name: "x", Team: "T9"},
		"colleague":   {ID: "W1", Name: "x", Team: "T9", Enterprise: "E1"},
		"other grid":  {ID: "W1", Name: "x", Team: "T9", Enterprise: "E9"},
		"guest":       {ID: "U1", Name: "x", Guest: true},
		"one channel": {ID: "U1", Name: "x", OneChannel: true},
		"deactivated": {ID: "U1", Name: "x", Deleted: true},
		"hidden":      {ID: "U1", Name: "x", Hidden: true},
	}
	policy := func(external, guests string, allow ...string) func(*Options) {
		return func(o *Options) { o.External, o.Guests, o.Allow = external, guests, allow }
	}
	const heard, asks, ignored = "heard", "asks", "ignored"
	tests := []struct {
		who    string
		change func(*Options)
		want   string
	}{
		{"own", nil, heard},
		{"stranger", nil, ignored},
		{"stranger", policy("ask", ""), asks},
		{"stranger", policy("allow", ""), heard},
		{"other team", nil, ignored},
		{"colleague", nil, heard},
		{"other grid", nil, ignored},
		{"guest", nil, asks},
		{"one channel", nil, asks},
		{"guest", policy("", "ignore"), ignored},
		{"guest", policy("", "allow"), heard},
		{"deactivated", policy("allow", "allow"), ignored},
		{"hidden", policy("allow", "allow"), ignored},
		{"own", policy("", "", "user:U2", "group:S0OPS"), ignored},
		{"own", policy("", "", "user:U1"), heard},
		{"own", policy("", "", "channel:C0GENERAL"), heard},
		{"guest", policy("", "", "channel:C0GENERAL"), asks},
	}
	for _, tt := range tests {
		t.Run(tt.who, func(t *testing.T) {
			t.Parallel()
			o := open(t, fakeslack.Options{Enterprise: "E1"}, tt.change)
			u := people[tt.who]
			o.fake.AddUser(u)
			o.fake.Join(u.ID, general)
			at := o.fake.Say(u.ID, general, fakeslack.Mention+" hi")
			o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
			o.fake.React(u.ID, general, at, "+1")
			o.fake.React(u.ID, general, at, "octagonal_sign")
			o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
			voter, err := o.a.Who(t.Context(), thread(general, at).Channel, chat.User{ID: chat.UserID(u.ID)})
			if err != nil {
				t.Error(err)
			}
			barred, stops := voter.Barred, 0
			for _, r := range o.in.Reactions {
				if r.Emoji == chat.EmojiStop {
					stops++
				}
			}
			got := heard
			switch {
			case len(o.in.Messages) == 0:
				got = ignored
			case barred != "":
				got = asks
			}
			if got != tt.want {
				t.Errorf("%s, and barred %q; want %s", got, barred, tt.want)
			}
			if (tt.want == heard) != (barred == "") || (tt.want == ignored) != (stops == 0) && tt.want != asks {
				t.Errorf("barred %q, %d words to stop", barred, stops)
			}
		})
	}
}

// An account that votes is looked up each time: one that was deactivated, or made a guest, a
// moment ago decides nothing, wherever it voted.
func TestVoterIsLookedUpAnew(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, nil)
	for _, tt := range []struct {
		now    fakeslack.User
		barred bool
	}{
		{fakeslack.User{}, false}, {fakeslack.User{Deleted: true}, true}, {fakeslack.User{}, false}, {fakeslack.User{Guest: true}, true}, {fakeslack.User{OneChannel: true}, true},
	} {
		tt.now.ID, tt.now.Name = "U0BOB", "bob"
		o.fake.AddUser(tt.now)
		by, err := o.a.Who(t.Context(), thread(general, "1").Channel, chat.User{ID: "U0BOB"})
		if err != nil || (by.Barred != "") != tt.barred || by.Name != "bob" && !tt.now.Deleted {
			t.Errorf("%+v votes as %+v, %v", tt.now, by, err)
		}
	}
}

// A member of a group that is heard is looked up once a minute, and while that
// can't be found out nothing is taken in: it is delivered again.
func TestAllowedGroup(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, func(o *Options) { o.Allow = []string{"group:S0OPS"}; o.Groups = true })
	fault := o.fake.Fail(fakeslack.Fault{Method: "usergroups.users.list", Status: 500})
	o.fake.Say("U0BOB", general, fakeslack.Mention+" one")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	if fault.Hits() != 1 {
		t.Error("the failure did not strike")
	}
	o.fake.Say("U0BOB", general, fakeslack.Mention+" two")
	o.fake.Say("U0ADA", general, fakeslack.Mention+" three")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
	o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
	if got := o.in.Texts(); len(got) != 2 || len(o.fake.Calls("usergroups.users.list")) != 2 {
		t.Errorf("messages %q, %d calls", got, len(o.fake.Calls("usergroups.users.list")))
	}
}
