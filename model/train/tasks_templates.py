"""How Quill's tasks are asked.  {t}: what is asked about, {p}: where it belongs.  Fixed before anything was trained on them."""
TEMPLATES = {
    "definition": [
        "What is {t}?", "What does {t} mean?", "Define {t}.", "Explain {t} in a sentence.", "meaning of {t}", "What is meant by {t}?",
        "I came across {t}. What is it?", "Could you tell me what {t} stands for?", "{t}: what is that?", "What do they call {t}?",
        "Give me a short description of {t}", "How is {t} defined?", "What kind of thing is {t}?", "what's {t}"],
    "usage": [
        "How do I {t}?", "How can I {t}?", "What is the way to {t}?", "I want to {t}; where do I begin?", "What should I know to {t}?",
        "Is it possible to {t}, and how?", "Somebody asked me to {t}. How is it done?", "steps to {t}", "how to {t}", "What do I need to {t}?"],
    "usage_of": [
        "What is {t} for?", "When would I use {t}?", "What does {t} do?", "Why would one choose {t}?", "What happens when I use {t}?",
        "purpose of {t}", "What is the use of {t}?", "What can be done with {t}?", "What good is {t}?", "what effect has {t}"],
    "syntax": [
        "What is the syntax of {t}?", "How is {t} written?", "Show me how {t} is called", "What does a call of {t} look like?", "{t} syntax",
        "Which form does {t} take?", "How do I spell {t} in full?", "What are the arguments of {t}, as it is declared?", "signature of {t}",
        "Give me the form of {t}"],
    "parameter": [
        "What does {t} do in {p}?", "In {p}, what is {t}?", "What is {t} of {p} for?", "{p}: what does {t} mean?", "Which effect has {t} on {p}?",
        "I use {p}. What should I pass as {t}?", "explain {t} for {p}", "What is the role of {t} in {p}?", "When do I need {t} with {p}?",
        "{t} in {p}"],
    "warning": [
        "What should I look out for with {t}?", "Is there anything dangerous about {t}?", "What do they warn of with {t}?", "Any caveats on {t}?",
        "What must be noted about {t}?", "What can go wrong with {t}?", "pitfalls of {t}", "What should I be careful of when it comes to {t}?",
        "Does the manual caution against anything in {t}?", "What hint is given on {t}?"],
    "code_example": [
        "Show an example of {t}", "Is there sample code for {t}?", "What does {t} look like in practice?", "Give me a snippet for {t}",
        "An example, please: {t}", "code for {t}", "How would {t} be written, for instance?", "Can I see {t} at work?", "example {t}",
        "Which lines demonstrate {t}?"],
    "list_children": [
        "What are the parts of {t}?", "Which sections does {t} have?", "What does {t} cover?", "List what is treated under {t}",
        "Which topics come under {t}?", "What will I find in the chapter on {t}?", "contents of {t}", "How is {t} divided?",
        "Name the subsections of {t}", "What belongs to {t}?"],
    "where_to_find_child": [
        "Where can I read about {t}?", "Which section covers {t}?", "Where is {t} described?", "In which part do I find {t}?", "Point me to {t}",
        "Where do they explain {t}?", "Which chapter is {t} in?", "I am looking for {t}. Where is it?", "where is {t}", "Under what heading is {t}?"],
}
# Asked of what the manual does not have: any of these tasks' templates.
UNANSWERABLE = ("definition", "usage_of", "syntax", "warning", "code_example")
# Needles in a haystack, after RULER: single, among several, and a chain of names.
NEEDLE = ["The access word of {t} is {v}.", "For {t} the agreed word is {v}.", "Note: {t} answers to the word {v}."]
ASKED = ["What is the access word of {t}?", "Which word is agreed for {t}?", "What word does {t} answer to?"]
CHAIN = ["Let {a} be {b}.", "{a} has the value of {b}.", "Take {a} as {b}."]
ASKED_CHAIN = ["Which value does {t} come to?", "What is {t} in the end?", "Follow the names: what is {t}?"]
