package chat

import "strings"

// Emoji that mean something by themselves, in normal form.
const (
	EmojiStop  = "🛑"
	EmojiSeen  = "👀"
	EmojiRetry = "🔄"
	EmojiMute  = "🔇"
)

// slackNames maps the names that Slack gives to the emoji that nod uses or is
// commonly configured with (https://docs.slack.dev/reference/events/reaction_added).
var slackNames = map[string]string{
	"white_check_mark":        "✅",
	"heavy_check_mark":        "✔",
	"ballot_box_with_check":   "☑",
	"+1":                      "👍",
	"thumbsup":                "👍",
	"x":                       "❌",
	"-1":                      "👎",
	"thumbsdown":              "👎",
	"no_entry":                "⛔",
	"no_entry_sign":           "🚫",
	"octagonal_sign":          "🛑",
	"eyes":                    "👀",
	"arrows_counterclockwise": "🔄",
	"ok_hand":                 "👌",
	"ok":                      "🆗",
	"rocket":                  "🚀",
	"heavy_multiplication_x":  "✖",
	"tada":                    "🎉",
	"100":                     "💯",
	"raised_hand":             "✋",
	"hand":                    "✋",
	"hourglass":               "⌛",
	"hourglass_flowing_sand":  "⏳",
	"pray":                    "🙏",
	"fire":                    "🔥",
	"ship":                    "🚢",
	"lock":                    "🔒",
	"unlock":                  "🔓",
	"red_circle":              "🔴",
	"large_green_circle":      "🟢",
	"warning":                 "⚠",
	"heavy_plus_sign":         "➕",
	"heavy_minus_sign":        "➖",
	"white_large_square":      "⬜",
	"large_red_square":        "🟥",
	"large_green_square":      "🟩",
	"eject":                   "⏏",
	"double_vertical_bar":     "⏸",
	"black_square_for_stop":   "⏹",
	"arrow_forward":           "▶",
	"repeat":                  "🔁",
	"mute":                    "🔇",
}

// NormalEmoji gives the one form in which two writings of an emoji compare
// equal: Slack's name (`+1`, `:thumbsup:`, `+1::skin-tone-2`) becomes the
// character, and skin tones and variation selectors are dropped. An unknown
// name, such as a workspace's own emoji, stays a name without colons.
func NormalEmoji(s string) string {
	s = strings.Trim(strings.TrimSpace(s), ":")
	if name, _, ok := strings.Cut(s, "::skin-tone-"); ok {
		s = name
	}
	if e, ok := slackNames[s]; ok {
		return e
	}
	return strings.Map(func(r rune) rune {
		if r == '\uFE0F' || r == '\uFE0E' || r >= '\U0001F3FB' && r <= '\U0001F3FF' {
			return -1
		}
		return r
	}, s)
}

// SlackName gives the name by which Slack's reactions.add knows an emoji in
// normal form; a name that is already one comes back unchanged.
func SlackName(emoji string) string {
	preferred := map[string]string{"👍": "+1", "👎": "-1", "🛑": "octagonal_sign", "🔄": "arrows_counterclockwise", "✋": "hand"}
	if n, ok := preferred[emoji]; ok {
		return n
	}
	for name, e := range slackNames {
		if e == emoji {
			return name
		}
	}
	return emoji
}
