"""Words that are no names: everyday words of both languages, titles, and words that are names as well. Data.

The lists are small and made by hand on purpose. A frequency list of a library (tens of megabytes, ten thousands of words) would
refuse many real names, since names are frequent words too, and the protocol's rooms depend on pydantic only. What matters here:
words that stand in nearly every text about people and their work, since replacing those damages the record of everybody else.
"""

from __future__ import annotations

from typing import Final

ENGLISH: Final = frozenset(
    """
    a able about above accept accepts across act action actions add after afternoon again against age agent ago agree agreed
    all almost alone along already also although always am among amount an and animal another answer any anybody anyone
    anything anyway apart are area around art as ask asks asked assistant at available away baby back bad bag baker band bank bar barn barrier
    base be because become bed been before began begin behind being believe below best better between big bike bird board
    boat body book books both box boy bread break bring brings broken brother build building business but buy by cafe call called came can
    cannot capability captain car care careful carpenter cash cat cause centre center chair chance change changes chef child children choice choir church city
    class clean cleaner clear client close club coach code coffee cold college come comes commit common community company complete condition cook
    cost could council country couple course craft cup customer dance data daughter day days deal decide decline delay deliver
    demander design designer desk developer did difference different difficult direction director do doctor does dog done door
    down draw drive driver during each early earth easy eat editor eight either electrician else empty en end endpoint energy engineer enough even
    evening event ever every everybody everyone everything everywhere example exchange expert express eye face fact fair fall family far
    farm farmer fast father fear feel few field fifth film find fire firm first fish fisherman five fix flat floor florist food for form found four
    free friend friends from full fun future game garden gardener gave general get gets girl give given gives glass go goal goes going
    gold gone good got government grandfather grandmother great ground group groups grow guest guide had half hall hand hands hard has have
    he head health hear heart heat heavy help helper helps her here hers herself high him himself his history hold holiday
    home horse hospital host hot hour hours house how however human hundred husband i idea if important in inside instead
    interest into is it its itself item items january job joiner journalist july just keep keeps kept key kid kids kind kitchen knew know known
    knows labour lack land language large last late later law lawyer lead leader learn least leave left lend less lesson
    let letter level librarian library life light like likes limit line list listen little live lives local long look looks
    lose lost lot love low machine made main make makes man manager many march market married match material matter may maybe me
    meal mean means meet meeting member men might mile mind mine minute miss mission model moment monday money month
    months more morning most mother move moves much mum dad mom museum music musician must my myself name names near nearly need needs
    neighbour neighbor neither never new news next nice night nine no nobody none nor north not note notes nothing now number nurse of
    off offer offers office officer often oh oil old on once one only open operator or order other others our ours out
    outside over own owner page paid paint painter pair paper parent parents park part participant participants party past patient pay
    people perhaps period person phone photo photographer picture piece place plan planner plans plant play player plumber police
    poor possible post potter power present president press price principal private probably problem produce producer profile
    programmer project projection proposal propose prove provide public pull pupil put quality question quick quiet quite radio
    rain raise ran rather read reader ready real really reason receive record relation remember rent repair reply
    report researcher residual rest result retired return rice right risk river road role room round rule run runs safe said
    sale salt same save saw say says scene school science scientist sea second seat secretary see seek seem seen self sell send
    sense september service set seven shall share she shepherd shop short should show side sign simple since singer single sister
    sit site six size skill skills sleep slow small smith so social soldier solution some somebody someone something sometimes
    son song soon sort sound source south space speak speaker special spring staff stage stand start state station stay
    step still stone stop store story street strong student students study such sunday supply sure system table tailor take takes
    talk task tasks teach teacher team tell ten tension term test text than thank that the their theirs them themselves then
    there these they thing things think third this those though thought three through time times to today together told
    tomorrow tonight too took tool tools top toward town trade trainer train training transition travel tree tried trip trouble true
    trust try turn tutor twelve two type under understand university until up upon us use used user useful usual very village visit
    voice volunteer wage wait waiter waitress walk wall want wants war warden warm was watch water way ways we week weekend weeks welder well went were west
    what when where whether which while white who whole whom whose why wide wife will win wind window winter wish
    with within without woman women won wood word words work worker workers works workshop world worse would write writer
    wrong year years yes yesterday yet you young your yours yourself zero about contact email mail me my overview profile summary
    introduction background experience bio biography cv resume curriculum vitae unknown anonymous nobody test admin administrator root
    system null undefined none human person proxy bot assistant catalyst participant demander endpoint everyone guest
    tuesday wednesday thursday friday saturday february august october november december summer autumn
    black blue green grey gray red yellow brown north-west de der den van von da di du la le les el al bin ibn ben del della dos das
    dr mr mrs ms miss prof professor sir madam lord lady jr sr phd md
    """.split()
)
"""Never a name by themselves, and never replaced alone where they are part of one."""

ALSO_NAMES: Final = frozenset(
    """
    april archer art august autumn banks bell bill bishop bond booth bridge bridges brook brooks bush butler carter chase chip
    christian church clay cliff cole cook cooper crystal daisy dale dawn dean diamond drew dusty earl eve faith fields fisher flora ford forest
    forrest fox frank french gale gene ginger glen grace grant green hall harper harry hazel heath heather hill holly hope hunt hunter iris ivy
    jack jade jasmine jay jean jewel jimmy john josh joy june king knight lake lance lane lark laurel lee lily love
    major marina mark marsh marsha mason max may melody mercy merit mike miles miller mills misty moon moor moore nash neat nick
    noble nova oak olive opal page parks parson pat patience pearl peg penny pepper peter piper poppy porter potter price prince pruitt queen
    ray read reed reeve rich richer river rivers rob robin rock rod rose rosemary ruby rush rusty sally sandy sawyer scarlet
    scott serene shade shepherd sherry sierra singh sky skip small smith snow sonny spencer stark star stella sterling stone storm strong
    sue summer sunny swan swift taylor temple terry thorn tiger tom tony trinity turner tyler van vale victor violet wade walker wall
    ward warren waters webb weaver wells west white wild will willow winter winters wolf wood woods wren wright york young
    """.split()
)
"""Alone they are taken for a name only where they are written with a capital."""

CHINESE: Final = frozenset(
    """
    夏天 江水 毕业 章程 孙子 叶子 池子 凌晨 卫生 卫星 黄梅 小程 石板 金属 安装 高峰期 山上 时段 车上 车站 车队 车间 车库 路口 路边 路线 水厂 水泵 水管 水箱 水池 农具 农药 田地 田里 花园 花盆 花草
    成年 应急 应付 管道 管子 包装 包括 于此 明年 党员 党支部 马路 马上 牛棚 鱼塘 鱼苗 米饭 麦子 麦田 茶叶 茶馆 茶园 柴火 柴油 温室 温泉 冷库 冷链 雷雨 云彩 毛线 皮包 皮鞋 金额 银行 钱财 余下 余款 常年 常客
    计时 计件 计算机 项链 景区 景点 班次 班车 班长 古镇 古树 纪律 纪念 连夜 连队 全程 全年 全镇 全村 平日 平房 方便面 方言 高速 高楼 高铁 高考 任务书 查账 查看 沙子 沙发 沙滩 施工 施肥 舒服 和气 从小 从前 支架 支书
    我们 你们 他们 她们 它们 大家 自己 别人 某人 有人 没人 谁人 什么 怎么 怎样 为什么 哪里 这里 那里 这个 那个 一个 一些 一起 一样 一直 一定 一般
    可以 可能 能够 需要 应该 应当 必须 希望 愿意 想要 想法 知道 认为 觉得 发现 看到 听说 告诉 表示 说明 介绍 帮助 支持 提供 参与 参加 组织 负责
    工作 生活 学习 学校 老师 学生 同学 朋友 同事 家人 父母 父亲 母亲 爸爸 妈妈 爷爷 奶奶 哥哥 姐姐 弟弟 妹妹 孩子 儿子 女儿 丈夫 妻子 老人 年轻人 邻居
    医生 护士 律师 工人 农民 司机 厨师 教师 工程师 设计师 程序员 记者 作家 画家 歌手 演员 经理 老板 店主 客户 顾客 用户 专家 学者 志愿者 师傅 主任 校长 园丁 木匠
    时间 时候 今天 明天 昨天 今年 明年 去年 早上 上午 中午 下午 晚上 周末 星期 每天 每周 现在 以前 以后 已经 正在 曾经 马上 平时 常常 经常 有时 同时
    地方 城市 农村 村子 社区 公司 单位 部门 机构 医院 商店 市场 工厂 车间 车站 房子 房间 办公室 图书馆 中国 世界 国家 社会 全国 全部 全面 东方 西方 南方 北方 东西
    问题 方法 方式 方向 方面 方案 方便 计划 项目 任务 目标 目的 结果 原因 关系 关于 关键 关注 内容 信息 数据 资料 材料 经验 能力 机会 条件 情况 过程 程度 程序
    安全 安排 安静 平台 平均 平静 平等 和平 和谐 成功 成本 成员 成长 成果 成立 完成 开始 结束 继续 停止 增加 减少 改变 变化 发展 提高 解决 解释 解放
    高兴 高度 高级 简单 复杂 容易 困难 重要 主要 必要 特别 非常 比较 相关 相信 相同 通过 通常 同样 同意 支付 费用 价格 钱包 黄金 黄色 白色 白天 红色 金属 金额
    明白 明显 明确 向前 向上 连接 连续 顾问 许多 许可 何时 何况 于是 于此 任何 万一 单独 尚未 包括 包含 左右 空间 计算 商业 商品 商量 牛奶 水平 水果 广告 广场 路线 路上
    文化 文字 文章 文件 文明 温度 温暖 石头 江山 毛病 强调 强大 应用 游戏 华丽 龙头 双方 各方 对方 双赢 能源 能手 段落 项链 常见 经过 经济 管理 管道 钟头 汤圆 花园 花费
    张力 需求方 参与者 端侧 投影 催化 催化师 能力 方向 边界 互补 同向 对冲 收敛 残余 方案 交付 档案 场景 屏障 匿名 无名 未知 测试 管理员 系统 简介 个人简介 自我介绍 关于我 个人档案 概述 背景 经历
    先生 女士 小姐 同志 阿姨 叔叔 伯伯 师父 小孩 男人 女人 人们 人员 居民 村民 市民 业主 房东 租客 团队 小组 伙伴 搭档 合作 交流 沟通 联系 电话 微信 邮箱 地址 姓名 名字 昵称
    """.split()
)
"""Never a name, and never replaced where it is the given name of one: words of everyday texts, many of them like a name in form."""

SURNAMES: Final = frozenset(
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付傅方白"
    "邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤温康施文牛樊葛邢安齐易乔伍庞颜倪庄聂章鲁岳翟殷詹申欧耿关兰焦俞左柳甘祝包宁尚符舒阮柯"
    "纪梅童凌毕单季裴霍涂成苗谷盛曲翁冉骆蓝路游辛靳管柴蒙鲍华喻祁蒲房滕屈饶解牟艾尤阳时穆农司卓古吉缪简车项连芦麦褚娄窦戚岑景党宫费卜冷晏席卫米柏宗瞿桂全"
    "佟应臧闵苟邬边卞姬师和仇栾隋商刁沙荣巫寇桑郎甄丛仲虞敖巩明佘池查麻苑迟邝郗班税狄花封闻"
    "阮竺阚谌常洪萧赖阎谈鄢郁匡栗荆储屠鞠奚雍冼郜廉蔺冀燕杭海晁伊宓"
) | frozenset(
    "欧阳 司马 上官 诸葛 东方 皇甫 尉迟 公孙 慕容 司徒 令狐 夏侯 端木 南宫 长孙 宇文 轩辕 闻人 呼延 独孤".split()
)
HONORIFICS: Final = tuple(
    "先生 女士 小姐 老师 师傅 师父 医生 大夫 教授 阿姨 叔叔 伯伯 大哥 大姐 大嫂 大叔 大婶 大伯 爷爷 奶奶 大爷 大妈 大娘 经理 老板 主任 书记 "
    "校长 园长 院长 所长 站长 厂长 村长 镇长 队长 局长 科长 处长 会计 律师 护士 警官 教练 导演 同学 同志 姐 哥 嫂 婶 叔 伯 爷 姨 姑 工 总".split()
)
"""After a family name: people call each other so."""
FAMILIAR: Final = "老小阿"
"""Before a family name, likewise."""

PLACE_WORDS: Final = tuple(
    """
    abbey academy airport arcade arms avenue barracks baths bay beach borough bridge building buildings canal canyon castle cathedral
    cemetery chapel church cinema city coast college corner council county court cove creek crematorium crescent crossing dale depot
    desert district dock docks east estate exchange fairground falls farm fen fens field fields flats fold forest gallery garden
    gardens glen grounds grove hall harbor harbour heath heights hill hills hospice hospital house infirmary inn island islands isle
    junction knob lake landing lane legion library loch lock locks lodge manor marina market marsh meadow meadows mews mill moor moors
    mosque mount mountain mountains museum north orchard parade parish park parkway peak pier plain plains plaza pool prison province
    quarry quay ranch region reservoir ridge river road rooms row sands school shire south springs square stadium stairs station street
    synagogue temple terminal terrace theater theatre tower towers town unified university valley village ward wells west wharf wood
    woods yard
    """.split()
)
"""English words that make of the word before them the name of a place: Fenner's Hill."""
