" Lectern in Vim and Neovim.
"
"   :LecternAsk QUESTION      an answer with its citations
"   :LecternSearch WORDS      sections
"
" In what they show Enter opens the file at the place under the cursor, K reads its section, q closes.
" g:lectern_program is the program, g:lectern_options a list of options, as ['-c', 'octave'].

if exists('g:loaded_lectern')
  finish
endif
let g:loaded_lectern = 1

" What the program prints: errors are JSON on standard output, too.
function! s:run(words) abort
  let words = [get(g:, 'lectern_program', 'lectern')] + a:words
  return system(join(map(words, 'shellescape(v:val)')) . ' 2>/dev/null')
endfunction

function! s:call(words) abort
  let said = s:run(a:words[:0] + ['--json', '--quiet'] + a:words[1:])
  if said !~# '^\s*{'
    throw 'lectern: the program does not answer (g:lectern_program)'
  endif
  let value = json_decode(said)
  if has_key(value, 'error')
    throw 'lectern: ' . value.error.message
  endif
  return value
endfunction

" Shows lines; places are {line number: {node, span}}, each of the lines from there on.
function! s:show(lines, places) abort
  let window = bufwinnr('^lectern://$')
  if window > 0
    execute window . 'wincmd w'
  else
    botright new
    silent file lectern://
    setlocal buftype=nofile bufhidden=wipe noswapfile nobuflisted wrap linebreak
    nnoremap <buffer> <silent> <CR> :call <SID>guard('s:open')<CR>
    nnoremap <buffer> <silent> K :call <SID>guard('s:read')<CR>
    nnoremap <buffer> <silent> q :bwipeout<CR>
  endif
  setlocal modifiable
  silent %delete _
  call setline(1, a:lines)
  setlocal nomodifiable
  let b:lectern_places = a:places
  call cursor(1, 1)
endfunction

function! s:place() abort
  for number in range(line('.'), 1, -1)
    if has_key(b:lectern_places, number)
      return b:lectern_places[number]
    endif
  endfor
  throw 'lectern: there is no place on this line'
endfunction

function! s:name(place) abort
  let anchor = type(a:place.anchor) == v:t_string ? '#' . a:place.anchor : ''
  return a:place.manual . ': ' . join(a:place.path, ' › ') . '  ' . a:place.file . anchor
endfunction

function! s:ask(question) abort
  let answer = s:call(['ask'] + get(g:, 'lectern_options', []) + ['--', a:question])
  let text = answer.kind ==# 'none' ? 'Nothing in the manuals answers this.' : answer.answer
  let doubt = get(answer, 'doubtful', v:false) ? ['The manuals may not answer this.', ''] : []
  let lines = doubt + split(text, "\n", 1) + ['']
  let places = {}
  for citation in get(answer, 'citations', [])
    call add(lines, '[' . citation.n . '] ' . s:name(citation))
    let places[len(lines)] = citation
  endfor
  call s:show(lines, places)
endfunction

function! s:search(words) abort
  let found = s:call(['search'] + get(g:, 'lectern_options', []) + ['--', a:words])
  let lines = []
  let places = {}
  for hit in found.results
    call add(lines, s:name(hit))
    let places[len(lines)] = hit
    let lines += ['    ' . strcharpart(substitute(hit.text, '\_s\+', ' ', 'g'), 0, 200), '']
  endfor
  call s:show(empty(lines) ? ['Nothing is found.'] : lines, places)
endfunction

" The file at the place: at the section's line, then at the very byte, which Vim counts in UTF-8.
function! s:open() abort
  let place = s:place()
  let where = s:call(['open', '--print', place.node])
  wincmd p
  if bufname('%') ==# 'lectern://'
    new
  endif
  " Of a section that includes others' files the place may be in one of these.
  let cited = where.root . '/' . get(place, 'file', '')
  let elsewhere = cited !=# where.file && filereadable(cited)
  execute 'edit' fnameescape(elsewhere ? cited : where.file)
  execute elsewhere ? 1 : where.line
  if &fileencoding =~# '^\(utf-8\)\?$' && type(place.span) == v:t_list
    execute 'goto' place.span[0] + 1
  endif
endfunction

function! s:read() abort
  let place = s:place()
  call s:show(split(s:run(['get', place.node]), "\n", 1), {1: place})
endfunction

function! s:guard(name, ...) abort
  try
    call call(a:name, a:000)
  catch /^lectern:/
    echohl ErrorMsg | echomsg v:exception | echohl None
  endtry
endfunction

command! -nargs=+ LecternAsk call s:guard('s:ask', <q-args>)
command! -nargs=+ LecternSearch call s:guard('s:search', <q-args>)
