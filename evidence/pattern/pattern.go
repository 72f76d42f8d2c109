// Package pattern compiles the regular expressions of clients within a bound on the memory that
// they take up together. A short text can make a large one: `(x{1,900}y?){1}` is 15 bytes.
package pattern

import (
	"errors"
	"regexp"
	"regexp/syntax"
)

const (
	// instructionSize is what an instruction of a compiled expression takes up, and rangeSize what
	// a table has for each range of characters that an instruction tells apart, in bytes.
	instructionSize = 128
	rangeSize       = 16
	// maxTables is up to how many instructions the library makes tables of ranges for an expression.
	maxTables = 2000
	// surplus is how many times as many instructions may be estimated as there are.
	surplus = 2
)

var (
	// ErrLarge is for an expression that has more instructions than one may have.
	ErrLarge = errors.New("its repetitions are too large")
	// ErrFull is for an expression that does not fit beside those before it.
	ErrFull = errors.New("the regular expressions are too large together")
)

// Pattern is a regular expression that has been compiled.
type Pattern struct {
	*regexp.Regexp
	// Instructions is how many it has at most: all of them may be looked at for each character.
	Instructions int
}

// Set compiles expressions that are kept together. Equal ones are compiled once.
type Set struct {
	maxBytes, maxInstructions int

	compiled map[string]*Pattern
	size     int
	full     bool
}

// NewSet makes a set for at most maxBytes together, with at most maxInstructions each.
func NewSet(maxBytes, maxInstructions int) *Set {
	return &Set{maxBytes: maxBytes, maxInstructions: maxInstructions, compiled: map[string]*Pattern{}}
}

// Size is what the expressions take up together, estimated, in bytes.
func (s *Set) Size() int { return s.size }

// Full tells that an expression did not fit. Then no further one is compiled.
func (s *Set) Full() bool { return s.full }

// Compile is regexp.Compile within the set's bounds, which are checked before compiling.
func (s *Set) Compile(text string) (*Pattern, error) {
	if compiled, ok := s.compiled[text]; ok {
		return compiled, nil
	}
	if s.full {
		return nil, ErrFull
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	instructions, ranges := measure(parsed)
	instructions += 2 // each program has one to match and one to fail
	if instructions > surplus*s.maxInstructions {
		return nil, ErrLarge
	}
	s.size += instructions*instructionSize + len(text)
	if instructions < maxTables {
		s.size += ranges * rangeSize
	}
	if s.full = s.size > s.maxBytes; s.full {
		return nil, ErrFull
	}
	if instructions > s.maxInstructions {
		program, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			return nil, err
		}
		if len(program.Inst) > s.maxInstructions {
			return nil, ErrLarge
		}
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	s.compiled[text] = &Pattern{compiled, instructions}
	return s.compiled[text], nil
}

// measure returns an upper bound of an expression's instructions, and its ranges of characters.
func measure(e *syntax.Regexp) (instructions, ranges int) {
	for _, sub := range e.Sub {
		i, r := measure(sub)
		instructions, ranges = instructions+i, ranges+r
	}
	switch e.Op {
	case syntax.OpLiteral:
		return max(len(e.Rune), 1), len(e.Rune)
	case syntax.OpCharClass:
		return 1, len(e.Rune) / 2
	case syntax.OpCapture, syntax.OpStar:
		return instructions + 2, ranges
	case syntax.OpPlus, syntax.OpQuest:
		return instructions + 1, ranges
	case syntax.OpAlternate:
		return instructions + len(e.Sub), ranges
	case syntax.OpConcat:
		return max(instructions, 1), ranges
	case syntax.OpRepeat:
		// Each copy above the least number can be left out, which takes an instruction more.
		copies := max(e.Min, e.Max, 1)
		return copies*instructions + max(e.Max-e.Min, 0) + 2, copies * ranges
	default:
		return 1, 0
	}
}
