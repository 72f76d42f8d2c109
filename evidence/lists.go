package evidence

import "slices"

// Map returns the converted elements, in their order.
func Map[E, T any](elements []E, convert func(E) T) []T {
	converted := make([]T, 0, len(elements))
	for _, element := range elements {
		converted = append(converted, convert(element))
	}
	return converted
}

// AppendNew appends the elements that the list does not have yet, each once.
func AppendNew[E comparable](list []E, more ...E) []E {
	for _, one := range more {
		if !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list
}

// First returns the first element that fits, or false.
func First[E any](elements []E, fits func(E) bool) (first E, ok bool) {
	for _, element := range elements {
		if fits(element) {
			return element, true
		}
	}
	return first, false
}
