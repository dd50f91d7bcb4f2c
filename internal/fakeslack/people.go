package fakeslack

import (
	"slices"
	"time"
)

// The names of the workspace and the app.
const (
	Team    = "T0TEAM"
	App     = "A0APP"
	BotUser = "U0BOT" // the bot, as a user
	BotID   = "B0BOT" // the bot, as a bot
	BotName = "nod"
)

// Mention is how a message mentions the bot.
const Mention = "<@" + BotUser + ">"

// User is a member of the workspace. A Bot has an id as a bot besides.
type User struct {
	ID       string
	Name     string
	RealName string
	TZ       string // IANA name; default Europe/Berlin
	Bot      bool
	BotID    string
	Deleted  bool
	// Team is the workspace that they belong to, and Enterprise its Grid
	// organisation; [Team] and none where they are empty. Slack calls people of
	// other organisations strangers.
	Team       string
	Enterprise string
	Stranger   bool
	Guest      bool // of several channels
	OneChannel bool // a guest of one channel
	Hidden     bool // users.info says user_not_visible
}

// Group is a user group.
type Group struct {
	ID       string
	Handle   string
	Users    []string
	Disabled bool
}

// DefaultPeople are three people, two channels with the bot in them, one
// without it, and a user group.
func DefaultPeople() ([]User, []Channel, []Group) {
	users := []User{
		{ID: "U0ADA", Name: "ada", RealName: "Ada Lovelace"},
		{ID: "U0BOB", Name: "bob", RealName: "Bob Martin", TZ: "America/New_York"},
		{ID: "U0CLEO", Name: "cleo", RealName: "Cleo Ray", TZ: "Asia/Tokyo"},
	}
	everybody := []string{"U0ADA", "U0BOB", "U0CLEO"}
	channels := []Channel{
		{ID: "C0GENERAL", Name: "general", Members: append([]string{BotUser}, everybody...)},
		{ID: "C0SECRET", Name: "secret", Kind: Private, Members: []string{BotUser, "U0ADA", "U0BOB"}},
		{ID: "C0RANDOM", Name: "random", Members: everybody},
	}
	groups := []Group{{ID: "S0OPS", Handle: "ops", Users: []string{"U0BOB", "U0CLEO"}}}
	return users, channels, groups
}

// people are the users and the user groups.
type people struct {
	users  map[string]*User
	bots   map[string]*User // by their bot ids
	order  []string
	groups []*Group
}

func newPeople(o Options) people {
	p := people{users: map[string]*User{}, bots: map[string]*User{}}
	p.add(User{ID: BotUser, Name: BotName, RealName: BotName, Bot: true, BotID: BotID})
	for _, u := range o.Users {
		p.add(u)
	}
	for _, g := range o.Groups {
		p.groups = append(p.groups, &g)
	}
	return p
}

func (p *people) add(u User) {
	if u.TZ == "" {
		u.TZ = "Europe/Berlin"
	}
	if u.Team == "" {
		u.Team = Team
	}
	if u.Bot && u.BotID == "" {
		u.BotID = "B" + u.ID[1:]
	}
	if _, known := p.users[u.ID]; !known {
		p.order = append(p.order, u.ID)
	}
	p.users[u.ID] = &u
	if u.BotID != "" {
		p.bots[u.BotID] = &u
	}
}

func (p *people) byBotID(id string) *User { return p.bots[id] }

func (p *people) group(id string) *Group {
	i := slices.IndexFunc(p.groups, func(g *Group) bool { return g.ID == id })
	if i < 0 {
		return nil
	}
	return p.groups[i]
}

// AddUser adds a member to the workspace, or replaces one.
func (s *Server) AddUser(u User) {
	defer s.change()()
	s.people.add(u)
}

// SetGroup adds a user group, or replaces one.
func (s *Server) SetGroup(g Group) {
	defer s.change()()
	if known := s.people.group(g.ID); known != nil {
		*known = g
		return
	}
	s.people.groups = append(s.people.groups, &g)
}

// user gives a member, or panics: the test names nobody.
func (s *Server) user(id string) *User {
	u := s.people.users[id]
	if u == nil {
		panic("fakeslack: no user " + id)
	}
	return u
}

// renderUser gives the user object of the Web API.
func (s *Server) renderUser(u *User) reply {
	offset, label := 0, u.TZ
	if loc, err := time.LoadLocation(u.TZ); err == nil {
		label, offset = s.now().In(loc).Zone()
	}
	out := reply{
		"id": u.ID, "team_id": u.Team, "name": u.Name, "deleted": u.Deleted, "real_name": u.RealName,
		"tz": u.TZ, "tz_label": label, "tz_offset": offset, "is_bot": u.Bot, "is_app_user": false,
		"updated": s.now().Unix(), "is_restricted": u.Guest || u.OneChannel, "is_ultra_restricted": u.OneChannel,
		"profile": reply{
			"real_name": u.RealName, "display_name": u.Name, "real_name_normalized": u.RealName,
			"display_name_normalized": u.Name, "team": u.Team, "bot_id": u.BotID,
		},
	}
	if u.Stranger {
		out["is_stranger"] = true
	}
	if u.Enterprise != "" {
		out["enterprise_user"] = reply{"id": u.ID, "enterprise_id": u.Enterprise, "teams": []string{u.Team}}
	}
	return out
}

// teamOf is the workspace that whoever wrote a message belongs to.
func (s *Server) teamOf(user string) string {
	if u := s.people.users[user]; u != nil {
		return u.Team
	}
	return Team
}
