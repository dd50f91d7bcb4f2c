package calculator

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"

	"nod/chat"
	"nod/internal/tooltest"
	"nod/llm"
)

func TestCalculate(t *testing.T) {
	power2 := new(big.Int).Lsh(big.NewInt(1), 200).String()
	tests := []struct{ in, want string }{
		{"1+1", "2"},
		{"0.1 + 0.2", "0.3"},
		{"0.1+0.2-0.3", "0"},
		{"2^200", power2},
		{"2**200", power2},
		{"9007199254740993 + 0", "9007199254740993"},
		{"9223372036854775807 + 1", "9223372036854775808"},
		{"123456789012345678901234567890 * 10", "1234567890123456789012345678900"},
		{"1/3", "0.3333333333333333333333333333333333 (rounded to 34 digits)"},
		{"1/3*3", "1 (rounded to 34 digits)"},
		{"floor(1/3*3)", "1"},
		{"2/3", "0.6666666666666666666666666666666667 (rounded to 34 digits)"},
		{"10/4", "2.5"},
		{"10/-4", "-2.5"},
		{"1/8", "0.125"},
		{"2^-3", "0.125"},
		{"1.10 * 3", "3.3"},
		{"100.00", "100"},
		{"7 % 3", "1"},
		{"-7 % 3", "2"},
		{"7 % -3", "-2"},
		{"5.5 % 2", "1.5"},
		{"10^900 % 7", "1"},
		{"-2^2", "-4"},
		{"(-2)^2", "4"},
		{"2^3^2", "512"},
		{"--3", "3"},
		{"+3 - -3", "6"},
		{"2 + 3 * 4", "14"},
		{"(2 + 3) * 4", "20"},
		{"10 - 2 - 3", "5"},
		{"100 / 10 / 2", "5"},
		{"15% of 80", "12"},
		{"7.5 % Of (80 + 20)", "7.5"},
		{"3 × 4 ÷ 2 − 1", "5"},
		{"2 + 2 =", "4"},
		{"1_000_000 + 1", "1000001"},
		{"1,234,567.5 + 0.5", "1234568"},
		{"(1,000 + 1) * 2", "2002"},
		{"6.02e23 * 2", "1204000000000000000000000"},
		{".5 + 1.", "!a point without"},
		{"1E2 + 1e+2 + 100e-2", "201"},
		{"0^0", "1"},
		{"0 * -1", "0"},
		{"1e-300", "1E-300"},
		{"10^1500", "1E+1500"},
		{"2^5000", "1.412467032139426036835209667016147E+1505 (rounded to 34 digits)"},
		{"1e500 + 1e-600", "1E+500 (rounded to 34 digits)"},
		{"5²+2³", "33"},
		{"2^0.5", "1.414213562373095048801688724209698 (rounded to 34 digits)"},
		{"4^0.5", "2"},
		{"27^(1/3)", "3 (rounded to 34 digits)"},
		{"(-8)^3", "-512"},
		{"1.0000001^10000000000", "1.969972612930460566309249994846149E+434 (rounded to 34 digits)"},

		{"sqrt(16)", "4"},
		{"sqrt(0.25)", "0.5"},
		{"√(2)", "1.414213562373095048801688724209698 (rounded to 34 digits)"},
		{"cbrt(-27)", "-3"},
		{"abs(-3.5)", "3.5"},
		{"sign(-3.5)", "-1"},
		{"round(2.5)", "3"},
		{"round(-2.5)", "-3"},
		{"round(2.345, 2)", "2.35"},
		{"round(1234, -2)", "1200"},
		{"round(2/3, 4)", "0.6667"},
		{"floor(-2.5)", "-3"},
		{"ceil(-2.5)", "-2"},
		{"ceil(2.1)", "3"},
		{"trunc(-2.5)", "-2"},
		{"min(3, 1, 2)", "1"},
		{"max(3, 1, 2) + 1", "4"},
		{"max(3, 1, 2,)", "3"},
		{"max(1,,2)", "!character 7"},
		{"sum(0.1, 0.2, 0.3)", "0.6"},
		{"mean(1, 2, 3, 4)", "2.5"},
		{"ln(e)", "1 (rounded to 34 digits)"},
		{"ln(1)", "0"},
		{"exp(0)", "1"},
		{"log10(1000)", "3"},
		{"log2(8)", "3"},
		{"log2(0.125)", "-3"},
		{"log(81, 3)", "4"},
		{"log10(2)", "0.301029995663981195213738894724493 (rounded to 34 digits)"},
		{"factorial(20)", "2432902008176640000"},
		{"factorial(0)", "1"},
		{"factorial(100) / factorial(98)", "9900"},
		{"gcd(12, -18)", "6"},
		{"lcm(4, 6)", "12"},
		{"sin(pi)", "0 (rounded to 15 digits)"},
		{"sin(π/6)", "0.5 (rounded to 15 digits)"},
		{"cos(0)", "1 (rounded to 15 digits)"},
		{"cos(pi/2)", "0 (rounded to 15 digits)"},
		{"tan(pi/4)", "1 (rounded to 15 digits)"},
		{"sin(1e-20)", "1E-20 (rounded to 15 digits)"},
		{"sin(rad(30))", "0.5 (rounded to 15 digits)"},
		{"deg(pi)", "180 (rounded to 34 digits)"},
		{"atan(1)*4", "3.14159265358979 (rounded to 15 digits)"},
		{"PI", "3.141592653589793238462643383279503 (rounded to 34 digits)"},
		{"MAX(1, Sqrt(4))", "2"},
		{"exp(-10)", "0.00004539992976248485153559151556055061 (rounded to 34 digits)"},

		{"", "!empty"},
		{"  =", "!empty"},
		{"1/0", "!division by zero"},
		{"0/0", "!division by zero"},
		{"1 % 0", "!division by zero"},
		{"0^-1", "!division by zero"},
		{"1/(0.1+0.2-0.3)", "!division by zero"},
		{"sqrt(-1)", "!no real square root"},
		{"(-8)^(1/3)", "!no real power"},
		{"ln(0)", "!greater than 0"},
		{"log(10)", "!base is not clear"},
		{"log(10, 1)", "!division by zero"},
		{"asin(2)", "!from -1 to 1"},
		{"tan(pi/2)", "!not defined"},
		{"factorial(-1)", "!from 0 to 3000"},
		{"factorial(2.5)", "!whole"},
		{"gcd(1.5, 2)", "!whole"},
		{"round(1, 0.5)", "!places"},
		{"2(3)", "!operator is missing"},
		{"2pi", "!operator is missing"},
		{"1 000", "!operator is missing"},
		{"0xff", "!operator is missing"},
		{"1.2.3", "!operator is missing"},
		{"(1)(2)", "!operator is missing"},
		{"1 +", "!ends too early"},
		{"* 2", "!character 1"},
		{"1 + * 2", "!character 5"},
		{"(1 + 2", "!closing parenthesis is missing"},
		{"1 + 2)", "!closing parenthesis too many"},
		{"()", "!character"},
		{"sqrt", "!in parentheses"},
		{"sqrt 16", "!in parentheses"},
		{"sqrt()", "!takes 1 argument"},
		{"sqrt(1, 2)", "!takes 1 argument, not 2"},
		{"min()", "!at least 1"},
		{"round(1, 2, 3)", "!1 or 2 arguments"},
		{"max(1,000, 2)", "!one number or several"},
		{"1,5 + 1", "!decimal sign is a point"},
		{"1,2", "!comma"},
		{"5!", "!factorial(n)"},
		{"7 // 2", "!floor(a / b)"},
		{"$5 + 1", "!currency"},
		{"3 x 4", "!operator is missing"},
		{"x + 1", `!no "x"`},
		{"1 < 2", "!not understood"},
		{"1 == 1", "!not understood"},
		{"[1, 2]", "!not understood"},
		{`"a" + "b"`, "!not understood"},
		{"1..5", "!a point without"},
		{"1; 2", "!not understood"},
		{"# 1", "!not understood"},
		{"1 /* 2 */", "!character"},
		{"NaN", "!no "},
		{"Infinity", "!no "},
		{"add(1, 2)", `!no "add"`},
		{"n_0", `!no "n_0"`},
		{"len(1)", `!no "len"`},
		{"map(1, 2)", `!no "map"`},
		{"let a = 1", `!no "let"`},
		{"not 1", `!no "not"`},
		{"1 in 2", `!operator is missing`},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) { calculates(t, tt.in, tt.want) })
	}
}

// calculates compares; a want with "!" is a part of the refusal.
func calculates(t *testing.T, in, want string) {
	t.Helper()
	got, err := calculate(context.Background(), in)
	part, refused := strings.CutPrefix(want, "!")
	switch {
	case refused && err == nil:
		t.Errorf("%.80s = %.80s, want a refusal", in, got.String())
	case refused && !strings.Contains(err.Error(), part):
		t.Errorf("%.80s is refused with %q, want %q in it", in, err, part)
	case !refused && err != nil:
		t.Errorf("%.80s is refused with %q, want %s", in, err, want)
	case !refused && got.String() != want:
		t.Errorf("%.80s = %s, want %s", in, got.String(), want)
	}
}

// Expressions that would take minutes or gigabytes are refused before they are
// computed. Otherwise the test would not end.
func TestCalculateHostile(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"tower", "9^9^9^9", "!digits"},
		{"tower to the left", "((9^9)^9)^9999999", "!digits"},
		{"power", "2**(10**9)", "!digits"},
		{"small power", "0.5^(10^9)", "!closer to zero"},
		{"negative power", "2^-(10^9)", "!closer to zero"},
		{"exponent", "1e999999999", "!digits"},
		{"small exponent", "1e-999999999", "!digits"},
		{"exponent beyond int64", "1e99999999999999999999", "!digits"},
		{"product", "1e9999 * 1e9999", "!digits"},
		{"small product", "1e-9999 * 1e-9999", "!closer to zero"},
		{"base next to one", "(1 + 1e-900)^(10^100)", "!exponent"},
		{"one", "1^(10^500)", "1"},
		{"exp", "exp(10^20)", "!digits"},
		{"small exp", "exp(-10^20)", "!closer to zero"},
		{"exp of a huge number", "exp(1e5000)", "!digits"},
		{"factorial", "factorial(10^9)", "!3000"},
		{"factorial of a factorial", "factorial(factorial(100))", "!3000"},
		{"places", "round(1, 10^9)", "!places"},
		{"places of a huge number", "round(1e9000 + 0.5, 900)", "1E+9000"},
		{"floor of a huge number", "floor(1e9000)", "1E+9000"},
		{"huge and tiny", "1e9000 % 1e-900", "!too far apart"},
		{"angle", "sin(10^500)", "!angle"},
		{"gcd", "gcd(1e5000, 3)", "!up to 1000 digits"},
		{"deep", strings.Repeat("(", 400) + "1" + strings.Repeat(")", 400), "!parentheses"},
		{"deep calls", strings.Repeat("abs(", 100) + "1" + strings.Repeat(")", 100), "!parentheses"},
		{"signs", strings.Repeat("-", 900) + "1", "1"},
		{"long sum", strings.Repeat("1+", 499) + "1", "500"},
		{"long tower of ones", strings.Repeat("1^", 499) + "1", "1"},
		{"long", strings.Repeat("1", 1001), "!longer than"},
		{"very long", strings.Repeat("1+", 10_000_000), "!longer than"},
		{"long number", strings.Repeat("9", 998) + "+1", "1" + strings.Repeat("0", 998)},
		{"slow series", strings.Repeat("exp(", 40) + "1e-5" + strings.Repeat(")", 40), "!digits"},
		{"many series", strings.Repeat("ln(3)^pi+", 110) + "0", ""},
		{"many factorials", strings.Repeat("factorial(3000)-", 60) + "0", ""},
		{"not UTF-8", "1 + \xff", "!not understood"},
		{"zero byte", "1\x00", "!not understood"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == "" {
				if _, err := calculate(context.Background(), tt.in); err != nil {
					t.Error(err)
				}
				return
			}
			calculates(t, tt.in, tt.want)
		})
	}
}

func TestTool(t *testing.T) {
	box := tooltest.Box(t, tooltest.Make(t, Keys{})...)
	ctx, cancel := context.WithCancel(context.Background())
	got, err := box.Call(ctx, chat.Desk{Key: "k"}, llm.Call{Name: "calculator", Args: `{"expression":"6*7"}`})
	if err != nil || got.Failed || got.Text != "42" {
		t.Errorf("6*7: %+v, %v", got, err)
	}
	got, err = box.Call(ctx, chat.Desk{Key: "k"}, llm.Call{Name: "calculator", Args: `{"expression":"1/0"}`})
	if err != nil || !got.Failed || got.Text != "the expression has no result: division by zero" {
		t.Errorf("1/0: %+v, %v", got, err)
	}
	cancel()
	got, err = box.Call(ctx, chat.Desk{Key: "k"}, llm.Call{Name: "calculator", Args: `{"expression":"6*7"}`})
	if !errors.Is(err, context.Canceled) || !got.Failed {
		t.Errorf("cancelled: %+v, %v", got, err)
	}
}

// The model is told of every function.
func TestDescription(t *testing.T) {
	for name := range functions {
		if !strings.Contains(prose, name) {
			t.Errorf("%s is not described", name)
		}
	}
}

func FuzzCalculate(f *testing.F) {
	for _, s := range []string{"1+1", "-2^0.5", "round(1/3, 2)", "15% of 80", "1,000*2", "9^9^9", "max(1, sin(2)) % 3", "log(8, 2)", "0xff", "1e-9", "f_add(1)", "5²"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		n, err := calculate(context.Background(), in)
		if err != nil {
			return
		}
		text, _, _ := strings.Cut(n.String(), " ")
		if !json.Valid([]byte(strings.Replace(text, "E+", "E", 1))) {
			t.Errorf("%q = %q, which is no number", in, text)
		}
	})
}
